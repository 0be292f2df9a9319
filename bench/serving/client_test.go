package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// script answers each request with its body, part by part, and a pause between two parts.
func script(t *testing.T, status int, pause time.Duration, parts ...string) *client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		for i, p := range parts {
			if i > 0 {
				time.Sleep(pause)
			}
			fmt.Fprint(w, p)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	return newClient(s.URL)
}

func token(text string) string { return `data: {"choices":[{"text":"` + text + `"}]}` + "\n\n" }

const (
	usage = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\n"
	done  = "data: [DONE]\n\n"
)

func TestStampsEachEventAndTakesTheServersCount(t *testing.T) {
	const pause = 30 * time.Millisecond
	c := script(t, 200, pause, "\n", token("a"), token("b")+token(""), token("c"), usage+done)
	a := c.send(t.Context(), time.Now(), ask{prompt: "x", tokens: 3})
	if !a.served() || a.tokens != 3 || a.promptTokens != 7 || len(a.stamps) != 3 {
		t.Fatalf("%+v", a)
	}
	if a.ttft() < pause || a.ttft() > a.stamps[2] || a.ends < 4*pause { // the blank line is no token
		t.Errorf("stamps %v, end %v", a.stamps, a.ends)
	}
}

func TestTimesOfAnAnswer(t *testing.T) {
	a := answer{ends: 100, tokens: 5, stamps: []time.Duration{10, 20, 60, 70}} // one event had two tokens
	if a.ttft() != 10 || a.maxGap() != 40 || a.tpot() != 15 {
		t.Errorf("ttft %d, gap %d, tpot %d", a.ttft(), a.maxGap(), a.tpot())
	}
	none := answer{ends: 100}
	if none.ttft() != 100 || none.maxGap() != 0 || none.tpot() != 0 {
		t.Errorf("without text: ttft %d, gap %d, tpot %d", none.ttft(), none.maxGap(), none.tpot())
	}
}

// An answer that is cut, reports an error or has another length is not served, and never counts as fast.
func TestWhatIsNotServed(t *testing.T) {
	for name, x := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"cut":         {200, token("a") + usage, "without [DONE]"},
		"error event": {200, token("a") + `data: {"error":{"message":"broken"}}` + "\n\n" + done, "broken"},
		"too short":   {200, token("a") + strings.Replace(usage, `:3}`, `:2}`, 1) + done, "2 tokens instead of 3"},
		"no json":     {200, "data: {\n\n" + done, "read event"},
		"refused":     {503, "come later", "status 503: come later"},
	} {
		t.Run(name, func(t *testing.T) {
			a := script(t, x.status, 0, x.body).send(t.Context(), time.Now(), ask{prompt: "x", tokens: 3})
			if a.served() || !strings.Contains(a.problem().Error(), x.want) {
				t.Errorf("served %v, %v", a.served(), a.problem())
			}
		})
	}
}

func TestSplit(t *testing.T) {
	ok, busy, broken := answer{status: 200}, answer{status: 503}, answer{status: 400}
	if served, refused, err := split([]answer{ok, busy, ok}); len(served) != 2 || refused != 1 || err != nil {
		t.Errorf("%d served, %d refused, %v", len(served), refused, err)
	}
	for _, bad := range [][]answer{{ok, broken}, {busy, busy}, {ok, {err: io.ErrUnexpectedEOF}}} {
		if _, _, err := split(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}
