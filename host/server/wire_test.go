package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/server"
)

type chunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index int     `json:"index"`
		Text  *string `json:"text"`
		Delta struct {
			Role    *string `json:"role"`
			Content *string `json:"content"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt, Completion, Total int
	} `json:"-"`
	RawUsage json.RawMessage `json:"usage"`
}

func (c *chunk) text() string {
	if len(c.Choices) == 0 {
		return ""
	}
	if c.Choices[0].Text != nil {
		return *c.Choices[0].Text
	}
	if c.Choices[0].Delta.Content != nil {
		return *c.Choices[0].Delta.Content
	}
	return ""
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// events splits a body as strictly as the strictest reader: "data: " and "\n\n", nothing else.
func events(t *testing.T, body []byte) (chunks []chunk, done bool) {
	t.Helper()
	if strings.ContainsRune(string(body), '\r') {
		t.Errorf("a carriage return in the body")
	}
	for _, ev := range strings.SplitAfter(string(body), "\n\n") {
		ev, ended := strings.CutSuffix(strings.TrimLeft(ev, "\n"), "\n\n")
		switch data, isData := strings.CutPrefix(ev, "data: "); {
		case ev == "":
		case !isData || !ended || strings.Contains(data, "\n"):
			t.Fatalf("not one data line with a blank line after it: %q", ev)
		case data == "[DONE]":
			done = true
		case done:
			t.Errorf("an event after [DONE]: %q", data)
		default:
			var c chunk
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatalf("chunk %q: %v", data, err)
			}
			chunks = append(chunks, c)
		}
	}
	return chunks, done
}

const chatBody = `{"model":"sim:cpu-smollm2","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":8,"ignore_eos":true,` +
	`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`

func TestStreamOnTheWire(t *testing.T) {
	f := start(t, options{})
	resp, body := f.post(t, "/v1/chat/completions", chatBody, "x-request-id", "abc-1")
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" || resp.Header.Get("x-request-id") != "abc-1" {
		t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
	}
	chunks, done := events(t, body)
	if !done || len(chunks) < 2 {
		t.Fatalf("%d chunks, done: %v\n%s", len(chunks), done, body)
	}
	last := chunks[len(chunks)-1]
	var u usage
	if err := json.Unmarshal(last.RawUsage, &u); err != nil || len(last.Choices) != 0 || u.Completion != 8 || u.Total != u.Prompt+8 {
		t.Errorf("the last chunk is not the usage: %s", body)
	}
	for i, c := range chunks[:len(chunks)-1] {
		if c.Object != "chat.completion.chunk" || c.ID != "chatcmpl-abc-1" || c.Model != "sim:cpu-smollm2" || c.Created == 0 || string(c.RawUsage) != "null" {
			t.Errorf("chunk %d: %+v", i, c)
		}
		if (c.Choices[0].Delta.Role != nil) != (i == 0) {
			t.Errorf("chunk %d: role %v", i, c.Choices[0].Delta.Role)
		}
		if (c.Choices[0].Finish != nil) != (i == len(chunks)-2) || c.text() == "" {
			t.Errorf("chunk %d of %d: finish %v, text %q", i, len(chunks), c.Choices[0].Finish, c.text())
		}
	}
	if fin := chunks[len(chunks)-2].Choices[0].Finish; fin == nil || *fin != "length" {
		t.Errorf("finish_reason %v", fin)
	}
}

// What a stream says must be what the same request says without one, and its first chunk must carry text.
func TestStreamAndWholeAnswerAgree(t *testing.T) {
	f := start(t, options{})
	for _, route := range []string{"/v1/chat/completions", "/v1/completions"} {
		prompt := `"messages":[{"role":"user","content":"tell me"}]`
		if route == "/v1/completions" {
			prompt = `"prompt":["tell me"]`
		}
		body := `{"max_tokens":40,"temperature":0.8,"seed":7,` + prompt
		_, whole := f.post(t, route, body+`}`)
		var w struct {
			Object  string `json:"object"`
			Choices []struct {
				Text    string `json:"text"`
				Message struct{ Role, Content string }
				Finish  string `json:"finish_reason"`
			}
			Usage usage
		}
		if err := json.Unmarshal(whole, &w); err != nil || len(w.Choices) != 1 || w.Usage.Completion == 0 {
			t.Fatalf("%v: %s", err, whole)
		}
		_, streamed := f.post(t, route, body+`,"stream":true}`)
		chunks, done := events(t, streamed)
		var text, finish string
		for _, c := range chunks {
			text += c.text()
			if fr := c.Choices[0].Finish; fr != nil {
				finish = *fr
			}
		}
		if want := w.Choices[0].Text + w.Choices[0].Message.Content; text != want || finish != w.Choices[0].Finish || !done || chunks[0].text() == "" {
			t.Errorf("%s: streamed %q (%s), whole %q (%s)", route, text, finish, want, w.Choices[0].Finish)
		}
	}
}

func TestUsageOnlyWhereItWasAskedFor(t *testing.T) {
	f := start(t, options{})
	for options, want := range map[string]struct{ inChunks, last bool }{
		``: {},
		`,"stream_options":{"include_usage":true}`:                               {last: true},
		`,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`: {inChunks: true, last: true},
		`,"stream_options":{"continuous_usage_stats":true}`:                      {},
		`,"stream_options":null`:                                                 {},
	} {
		_, body := f.post(t, "/v1/completions", `{"prompt":"x","stream":true,"max_tokens":3,"ignore_eos":true`+options+`}`)
		chunks, _ := events(t, body)
		tokens := 0
		for i, c := range chunks {
			last := i == len(chunks)-1
			var u *usage
			if len(c.RawUsage) > 0 {
				if err := json.Unmarshal(c.RawUsage, &u); err != nil {
					t.Fatal(err)
				}
			}
			isUsage := last && want.last
			if (u != nil) != (want.inChunks || isUsage) || isUsage != (len(c.Choices) == 0) {
				t.Errorf("%s: chunk %d of %d: usage %v, choices %d", options, i, len(chunks), u, len(c.Choices))
			}
			if u != nil {
				if u.Completion < tokens {
					t.Errorf("%s: usage falls", options)
				}
				tokens = u.Completion
			}
		}
		if want.last && tokens != 3 {
			t.Errorf("%s: %d tokens", options, tokens)
		}
	}
}

func TestAStopStringEndsTheTextBeforeIt(t *testing.T) {
	f := start(t, options{})
	_, body := f.post(t, "/v1/completions", `{"prompt":"abc","max_tokens":60,"ignore_eos":true}`)
	var w struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal(body, &w); err != nil {
		t.Fatal(err)
	}
	stop := w.Choices[0].Text[20:23]
	want, _, _ := strings.Cut(w.Choices[0].Text, stop)
	raw, _ := json.Marshal([]string{stop})
	_, body = f.post(t, "/v1/completions", `{"prompt":"abc","max_tokens":60,"ignore_eos":true,"stream":true,"stop":`+string(raw)+`}`)
	chunks, done := events(t, body)
	text, finish := "", ""
	for _, c := range chunks {
		text += c.text()
		if fr := c.Choices[0].Finish; fr != nil {
			finish = *fr
		}
	}
	if text != want || finish != "stop" || !done {
		t.Errorf("text %q, want %q; finish %q", text, want, finish)
	}
}

var bareLine = regexp.MustCompile(`(?s)^\n+data: `)

// Once the status is out, silence is filled with blank lines, never with comments.
func TestEarlyHeadersAndSignsOfLife(t *testing.T) {
	release := make(chan struct{})
	f := start(t, earlyOptions(release))
	resp := f.open(t, chatBody)
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	// The device has not computed anything yet: the header came alone, and blank lines come now.
	first := make([]byte, 3)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "\n\n\n" {
		t.Fatalf("before the first token: %q, %v", first, err)
	}
	close(release)
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if chunks, done := events(t, rest); !done || len(chunks) < 2 || chunks[0].Choices[0].Delta.Role == nil {
		t.Errorf("after early headers: %s", rest)
	}
	if !bareLine.Match(append([]byte("\n"), rest...)) {
		t.Errorf("something else than a blank line before the first event: %q", rest[:20])
	}
}

// earlyOptions hold the first step of the device until release is closed.
func earlyOptions(release chan struct{}) options {
	o := options{Sim: sim.Options{Fault: func(step uint64, _ *gpu.Batch) error {
		if step == 1 {
			<-release
		}
		return nil
	}}}
	o.Server = earlyConfig
	return o
}

func (f *fixture) open(t *testing.T, body string) *http.Response {
	t.Helper()
	resp, err := f.client.Post(f.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

const earlyAfter = 10 * time.Millisecond

func earlyConfig(c *server.Config) {
	c.Settings = server.Settings{EarlyHeaders: earlyAfter, KeepAlive: earlyAfter}
}
