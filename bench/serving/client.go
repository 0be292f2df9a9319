package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// ask is one request of the load.
type ask struct {
	prompt string
	tokens int // of the answer, exactly: the end of the text is ignored
	header map[string]string
}

// answer is what came back for it, as the client saw it.
type answer struct {
	sent         time.Duration   // since the load began
	ends         time.Duration   // from sent to the end of the body, or to the error
	stamps       []time.Duration // from sent to each event with text
	status       int             // 0 = no status came
	promptTokens int
	tokens       int    // the server's own count
	refusal      string // what stands in the body of a status that is not 200
	err          error
}

// served tells whether the whole answer came.
func (a *answer) served() bool { return a.err == nil && a.status == http.StatusOK }

// split sets those apart that were refused with a status. Any other end, and none that was served, is an error.
func split(answers []answer) (served []answer, refused int, err error) {
	for _, a := range answers {
		if a.served() {
			served = append(served, a)
		} else if a.err != nil || a.status < http.StatusTooManyRequests {
			return nil, 0, a.problem()
		} else {
			refused++
		}
	}
	if len(served) == 0 {
		return nil, 0, fmt.Errorf("nothing was served: %w", answers[0].problem())
	}
	return served, refused, nil
}

// problem is why an answer was not served.
func (a *answer) problem() error {
	if a.err != nil {
		return a.err
	}
	return fmt.Errorf("status %d: %s", a.status, a.refusal)
}

// ttft is the time to the first text; of an answer without any, the time for which it was waited for.
func (a *answer) ttft() time.Duration {
	if len(a.stamps) == 0 {
		return a.ends
	}
	return a.stamps[0]
}

// tpot is the time per output token after the first; 0 below two tokens.
func (a *answer) tpot() time.Duration {
	if a.tokens < 2 || len(a.stamps) == 0 {
		return 0
	}
	return (a.stamps[len(a.stamps)-1] - a.stamps[0]) / time.Duration(a.tokens-1)
}

// maxGap is the longest time between two events with text.
func (a *answer) maxGap() time.Duration {
	var gap time.Duration
	for i := 1; i < len(a.stamps); i++ {
		gap = max(gap, a.stamps[i]-a.stamps[i-1])
	}
	return gap
}

// client sends requests to one server.
type client struct {
	http       *http.Client
	url, model string
}

// newClient makes a connection for each request: a server may close an idle one just when it is used again.
func newClient(url string) *client {
	return &client{url: url, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}}
}

// errShort is an answer that ended well and has another length than was asked for.
var errShort = errors.New("the answer has another length than was asked for")

// send sends one request and reads its stream to the end. begin is when the load began.
func (c *client) send(ctx context.Context, begin time.Time, q ask) (a answer) {
	start := time.Now()
	a.sent = start.Sub(begin)
	a.err = c.stream(ctx, start, q, &a)
	a.ends = time.Since(start)
	if a.err == nil && a.status == http.StatusOK && a.tokens != q.tokens {
		a.err = fmt.Errorf("%w: %d tokens instead of %d", errShort, a.tokens, q.tokens)
	}
	return a
}

func (c *client) stream(ctx context.Context, start time.Time, q ask, a *answer) error {
	body, err := json.Marshal(map[string]any{
		"model": c.model, "prompt": q.prompt, "max_tokens": q.tokens, "ignore_eos": true, "temperature": 0,
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
	})
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range q.header {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		a.refusal = string(text)
		return err
	}
	return a.read(resp.Body, start)
}

// event is the part of a chunk that counts here.
type event struct {
	Choices []struct {
		Text string `json:"text"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// read stamps the events of a stream. A stream without [DONE] or with an error event is an error.
func (a *answer) read(body io.Reader, start time.Time) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	done := false
	for lines.Scan() {
		now := time.Since(start)
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
		case data == "[DONE]":
			done = true
		default:
			if err := a.event(data, now); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	if !done {
		return errors.New("read stream: it ended without [DONE]")
	}
	return nil
}

func (a *answer) event(data string, now time.Duration) error {
	var e event
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	if e.Error != nil {
		return fmt.Errorf("read stream: the server says %s", e.Error)
	}
	if len(e.Choices) > 0 && e.Choices[0].Text != "" {
		a.stamps = append(a.stamps, now)
	}
	if e.Usage != nil {
		a.promptTokens, a.tokens = e.Usage.Prompt, e.Usage.Completion
	}
	return nil
}

// lookUp learns the model's name.
func (c *client) lookUp(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/v1/models", nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask for the model: %w", err)
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return fmt.Errorf("read the list of models: %w", err)
	}
	if len(list.Data) == 0 {
		return errors.New("ask for the model: the server lists none")
	}
	c.model = list.Data[0].ID
	return nil
}
