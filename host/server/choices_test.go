package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/server/servertest"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// byChoice joins the chunks of a stream by index, and checks that each choice begins and ends once.
func byChoice(t *testing.T, chunks []chunk, n int) (texts, finishes []string) {
	t.Helper()
	texts, finishes = make([]string, n), make([]string, n)
	for i, c := range chunks {
		if len(c.Choices) == 0 {
			continue
		}
		ch := c.Choices[0]
		if len(c.Choices) != 1 || ch.Index < 0 || ch.Index >= n {
			t.Fatalf("chunk %d: %+v", i, c)
		}
		if finishes[ch.Index] != "" {
			t.Errorf("choice %d goes on after its end", ch.Index)
		}
		if first := texts[ch.Index] == ""; (ch.Delta.Role != nil) != (first && ch.Text == nil) {
			t.Errorf("choice %d: role %v in its chunk with %q", ch.Index, ch.Delta.Role, c.text())
		}
		texts[ch.Index] += c.text()
		if ch.Finish != nil {
			finishes[ch.Index] = *ch.Finish
		}
	}
	return texts, finishes
}

// n answers to one request: each with its own seed, one usage for all, streamed or not.
func TestManyChoices(t *testing.T) {
	f := start(t, options{})
	for _, route := range []string{"/v1/chat/completions", "/v1/completions"} {
		prompt := `"messages":[{"role":"user","content":"tell me"}]`
		if route == "/v1/completions" {
			prompt = `"prompt":"tell me"`
		}
		body := `{"n":3,"max_tokens":9,"ignore_eos":true,"temperature":1,"seed":7,` + prompt
		_, whole := f.post(t, route, body+`}`)
		var w struct {
			Choices []struct {
				Index   int
				Text    string
				Message struct{ Content string }
				Finish  string `json:"finish_reason"`
			}
			Usage usage
		}
		if err := json.Unmarshal(whole, &w); err != nil || len(w.Choices) != 3 || w.Usage.Completion != 27 || w.Usage.Total != w.Usage.Prompt+27 {
			t.Fatalf("%v: %s", err, whole)
		}
		_, streamed := f.post(t, route, body+`,"stream":true,"stream_options":{"include_usage":true}}`)
		chunks, done := events(t, streamed)
		texts, finishes := byChoice(t, chunks, 3)
		if !done || !strings.Contains(string(streamed), `"completion_tokens":27,`) || strings.Count(string(streamed), `"choices":[]`) != 1 {
			t.Errorf("%s: done %v: %s", route, done, streamed)
		}
		different := map[string]bool{}
		for i, c := range w.Choices {
			text := c.Text + c.Message.Content
			if c.Index != i || text != texts[i] || c.Finish != "length" || finishes[i] != "length" {
				t.Errorf("%s choice %d: whole %q (%s), streamed %q (%s)", route, i, text, c.Finish, texts[i], finishes[i])
			}
			different[text] = true
		}
		if len(different) != 3 {
			t.Errorf("%s: the choices are the same: %q", route, texts)
		}
	}
	// The first choice is what the request would get alone.
	_, one := f.post(t, "/v1/completions", `{"max_tokens":9,"ignore_eos":true,"temperature":1,"seed":7,"prompt":"tell me"}`)
	_, two := f.post(t, "/v1/completions", `{"n":2,"max_tokens":9,"ignore_eos":true,"temperature":1,"seed":7,"prompt":"tell me"}`)
	var a, b struct{ Choices []struct{ Text string } }
	if json.Unmarshal(one, &a) != nil || json.Unmarshal(two, &b) != nil || a.Choices[0] != b.Choices[0] {
		t.Errorf("alone %s, with another %s", one, two)
	}
}

// The choices of one request count as so many requests, and when one is refused all are, with a status.
func TestChoicesAreTakenAllOrNone(t *testing.T) {
	for _, stream := range []bool{true, false} {
		o := slow(1)
		o.Engine = func(c *engine.Config) { c.Sched.MaxWaiting = 4 }
		f := start(t, o)
		f.dial(t, "/v1/completions", long("", true))
		f.Await(t, "ran", running(1))
		body := `{"prompt":"x","max_tokens":3,"n":%d,"stream":%v}`
		resp, answer := f.post(t, "/v1/completions", fmt.Sprintf(body, 5, stream))
		if e := readError(t, answer); resp.StatusCode != 503 || e.Error.Code != "queue_full" || resp.Header.Get("Retry-After") == "" {
			t.Errorf("stream %v: %d %s", stream, resp.StatusCode, answer)
		}
		f.Await(t, "emptied the queue", func(s engine.Snapshot) bool { return s.State.WaitingRequests == 0 && s.State.Running == 1 })
		c, _ := f.dial(t, "/v1/completions", fmt.Sprintf(body, 4, stream))
		f.Await(t, "queued four", waiting(4))
		hangUp(t, c, "fin")
		f.Await(t, "forgot four", waiting(0))
	}
}

// A policy that refuses one choice while it waits ends the others too.
func TestARefusedChoiceEndsTheOthers(t *testing.T) {
	o := slow(2)
	o.Engine = (&servertest.Gate{Phase: abi.PhaseQueued, Verdict: servertest.Reject(503, abi.ReasonQueueAge, 2000), Times: 1}).Install
	f := start(t, o)
	resp, answer := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":300,"ignore_eos":true,"n":3}`)
	if e := readError(t, answer); resp.StatusCode != 503 || e.Error.Code != "queue_age" {
		t.Errorf("%d %s", resp.StatusCode, answer)
	}
	f.Await(t, "freed everything", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == 3 })
}

// A client that leaves frees the places and blocks of all its choices.
func TestAGoneClientFreesAllItsChoices(t *testing.T) {
	for _, how := range []string{"fin", "reset"} {
		f := start(t, options{Sim: sim.Options{Wall: 0.3, MaxSeqs: 4}})
		c, r := f.dial(t, "/v1/chat/completions", `{"n":4,"max_tokens":300,"ignore_eos":true,"stream":true,"messages":[{"role":"user","content":"x"}]}`)
		for range 8 {
			if _, err := r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		f.Await(t, "ran all", running(4))
		hangUp(t, c, how)
		f.Await(t, "freed everything", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == 4 })
		ids := map[string]bool{}
		for _, rec := range f.Records() {
			ids[rec.ID] = true
			if rec.Outcome != sched.OutcomeCancelledRunning.String() {
				t.Errorf("%s ended as %s", rec.ID, rec.Outcome)
			}
		}
		if len(ids) != 4 {
			t.Errorf("ids %v", ids)
		}
	}
}
