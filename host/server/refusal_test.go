package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/server"
	"github.com/sluice-dev/sluice/host/server/servertest"
	"github.com/sluice-dev/sluice/plugins/abi"
)

func TestRefusalsAreHTTPStatuses(t *testing.T) {
	for _, c := range []struct {
		verdict abi.Verdict
		status  int
		reason  string
	}{
		{servertest.Reject(429, abi.ReasonQuota, 3000), 429, "quota"},
		{servertest.Reject(503, abi.ReasonCapacity, 0), 503, "capacity"},
		{servertest.Reject(529, abi.ReasonNone, 3600_000), 529, "rejected"},
		{servertest.Reject(0, 1234, 100), 503, "policy_1234"},
		{servertest.Reject(777, abi.ReasonQueueFull, 100), 503, "queue_full"},
	} {
		f := start(t, options{Engine: (&servertest.Gate{Phase: abi.PhaseArrival, Verdict: c.verdict}).Install})
		for _, stream := range []string{"true", "false"} {
			resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1,"stream":`+stream+`}`)
			e := readError(t, body)
			after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
			if err != nil || after < 1 || after > 30 || resp.Header.Get("x-should-retry") != "" {
				t.Errorf("%s: Retry-After %q", c.reason, resp.Header.Get("Retry-After"))
			}
			if resp.StatusCode != c.status || resp.Header.Get("x-sluice-reason") != c.reason || e.Error.Code != c.reason {
				t.Errorf("%s: %d %q %s", c.reason, resp.StatusCode, resp.Header.Get("x-sluice-reason"), body)
			}
		}
	}
}

// A request that is shed while it waits gets its 503 although it asked for a stream: the status was held back.
func TestShedFromTheQueueIsAStatus(t *testing.T) {
	o := slow(1)
	o.Engine = (&servertest.Gate{Phase: abi.PhaseQueued, Verdict: servertest.Reject(503, abi.ReasonQueueAge, 2000)}).Install
	f := start(t, o)
	f.dial(t, "/v1/completions", long("", true))
	f.Await(t, "ran", running(1))
	resp, body := f.post(t, "/v1/chat/completions", chatBody)
	if e := readError(t, body); resp.StatusCode != 503 || e.Error.Code != "queue_age" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// Once the status went out early, the same end is an error event.
func TestShedAfterEarlyHeadersIsAnEvent(t *testing.T) {
	o := slow(1)
	o.Server = earlyConfig
	f := start(t, o)
	f.dial(t, "/v1/completions", long("", true))
	f.Await(t, "ran", running(1))
	req, _ := http.NewRequest(http.MethodPost, f.URL+"/v1/chat/completions", strings.NewReader(chatBody))
	req.Header.Set("x-sluice-queue-ttl", "60ms")
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := readBroken(t, resp.Body)
	if e := errorEvent(t, body); resp.StatusCode != 200 || e.Error.Code != "ttl" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if strings.Contains(body, `"role"`) {
		t.Errorf("a role before any token: %q", body)
	}
}

func TestTTLAndDeadlineEndAWait(t *testing.T) {
	for header, reason := range map[string]string{"x-sluice-queue-ttl": "ttl", "x-sluice-deadline": "deadline"} {
		f := start(t, slow(1))
		f.dial(t, "/v1/completions", long("", true))
		f.Await(t, "ran", running(1))
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x"}`, header, "0.1")
		if e := readError(t, body); resp.StatusCode != 503 || e.Error.Code != reason || resp.Header.Get("Retry-After") == "" || resp.Header.Get("x-should-retry") != "" {
			t.Errorf("%s: %d %v %s", header, resp.StatusCode, resp.Header, body)
		}
	}
}

// On an idle server a deadline below the time of a step is missed every time, so clients are not asked to try again.
func TestADeadlineThatNobodyCouldMeetIsFinal(t *testing.T) {
	f := start(t, slow(1))
	if resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":4,"ignore_eos":true}`); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for _, stream := range []string{"true", "false"} {
		f.Await(t, "was idle", idle)
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":4,"ignore_eos":true,"stream":`+stream+`}`, "x-sluice-deadline", "1ms")
		e := readError(t, body)
		if resp.StatusCode != 503 || e.Error.Code != "deadline" || resp.Header.Get("x-sluice-reason") != "deadline" || strings.Contains(e.Error.Message, "come again") {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
		if resp.Header.Get("x-should-retry") != "false" || resp.Header.Get("Retry-After") != "" {
			t.Errorf("x-should-retry %q, Retry-After %q", resp.Header.Get("x-should-retry"), resp.Header.Get("Retry-After"))
		}
	}
}

func TestAPromptThatCanNeverFitIsFinal(t *testing.T) {
	f := start(t, options{
		Sim:    sim.Options{ContextTokens: 2048},
		Engine: func(c *engine.Config) { c.Sched.Blocks = 8 },
		Server: func(c *server.Config) { c.MaxModelLen = 2000 },
	})
	resp, body := f.post(t, "/v1/completions", `{"prompt":"`+strings.Repeat("x", 500)+`","max_tokens":5}`)
	if e := readError(t, body); resp.StatusCode != 400 || e.Error.Code != "kv_cache_exceeded" || resp.Header.Get("Retry-After") != "" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// Clients of one moment must not come back in one moment.
func TestRetryAfterIsSpread(t *testing.T) {
	f := start(t, options{Engine: (&servertest.Gate{Phase: abi.PhaseArrival, Verdict: servertest.Reject(429, abi.ReasonQuota, 10_000)}).Install})
	seen := map[string]int{}
	for range 60 {
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x"}`)
		after := resp.Header.Get("Retry-After")
		if !strings.Contains(string(body), "come again in "+after+" s") {
			t.Errorf("header %s, message %s", after, body)
		}
		seen[after]++
		if n, _ := strconv.Atoi(after); n < 10 || n > 16 {
			t.Errorf("Retry-After %s for 10 s", after)
		}
	}
	if len(seen) < 4 {
		t.Errorf("all come back at once: %v", seen)
	}
}

// A policy may let a request in under a lower limit, which the server learns only from the end of the answer.
func TestACappedAnswerEndsAsUsual(t *testing.T) {
	capped := abi.Verdict{Action: uint8(abi.ActionDegrade), MaxTokensCap: 3, ClassOverride: -1, SpeculationCap: -1}
	f := start(t, options{Engine: (&servertest.Gate{Phase: abi.PhaseArrival, Verdict: capped}).Install})
	_, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":50,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`)
	chunks, done := events(t, body)
	finish := ""
	for _, c := range chunks {
		if len(c.Choices) > 0 && c.Choices[0].Finish != nil {
			finish = *c.Choices[0].Finish
		}
	}
	if !done || finish != "length" || !strings.Contains(string(body), `"completion_tokens":3,`) {
		t.Errorf("finish %q: %s", finish, body)
	}
}
