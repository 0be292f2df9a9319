package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/server"
)

func readHTTP(r *bufio.Reader) (*http.Response, error) { return http.ReadResponse(r, nil) }

// readBroken reads a body to its end, which must not be a proper one.
func readBroken(t *testing.T, r io.Reader) string {
	t.Helper()
	body, err := io.ReadAll(r)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the body ends with %v, want a broken transfer", err)
	}
	return string(body)
}

// errorEvent is the error that ends a stream: the last event, and no [DONE] anywhere.
func errorEvent(t *testing.T, body string) apiError {
	t.Helper()
	i := strings.LastIndex(body, "event: error\ndata: ")
	if i < 0 || !strings.HasSuffix(body, "\n\n") || strings.Contains(body, "[DONE]") {
		t.Fatalf("no error event at the end: %q", body)
	}
	return readError(t, []byte(body[i+len("event: error\ndata: "):]))
}

// An error after the first byte: the message for those who read it, a broken body for those who do not.
func TestAFailedStepBreaksTheStreamOff(t *testing.T) {
	f := start(t, options{Sim: sim.Options{Fault: func(step uint64, _ *gpu.Batch) error {
		if step == 6 {
			return errors.New("secret detail")
		}
		return nil
	}}})
	resp := f.open(t, `{"stream":true,"max_tokens":50,"ignore_eos":true,"messages":[{"role":"user","content":"x"}]}`)
	defer resp.Body.Close()
	body := readBroken(t, resp.Body)
	if e := errorEvent(t, body); e.Error.Code != "device_failed" || strings.Contains(body, "secret") {
		t.Errorf("error %+v", e)
	}
	if n := strings.Count(body, `"content":"`); n < 1 || n > 5 {
		t.Errorf("%d chunks before the error", n)
	}
	resp2, whole := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":3}`)
	if resp2.StatusCode != 200 {
		t.Errorf("the next request: %d %s", resp2.StatusCode, whole)
	}
}

func TestAFailedStepBeforeTheFirstTokenIsA500(t *testing.T) {
	f := start(t, options{Sim: sim.Options{Fault: func(step uint64, _ *gpu.Batch) error { return errors.New("broken") }}})
	for _, stream := range []string{"true", "false"} {
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":3,"stream":`+stream+`}`)
		if e := readError(t, body); resp.StatusCode != 500 || e.Error.Code != "device_failed" {
			t.Errorf("stream %s: %d %s", stream, resp.StatusCode, body)
		}
	}
}

func TestShutdownLetsRunningRequestsFinish(t *testing.T) {
	f := start(t, slow(2))
	resp := f.open(t, `{"stream":true,"max_tokens":60,"ignore_eos":true,"messages":[{"role":"user","content":"x"}]}`)
	defer resp.Body.Close()
	stopped := make(chan error, 1)
	go func() { stopped <- f.Shutdown(context.Background()) }()
	f.awaitNotReady(t)
	// The process lives, new requests get a final 503, and what runs goes on.
	if r, _ := f.get(t, "/healthz"); r.StatusCode != 200 {
		t.Errorf("healthz while draining: %d", r.StatusCode)
	}
	r, body := f.post(t, "/v1/completions", `{"prompt":"x"}`)
	if e := readError(t, body); r.StatusCode != 503 || e.Error.Code != "draining" || r.Header.Get("x-should-retry") != "false" || r.Header.Get("Retry-After") != "" {
		t.Errorf("new request while draining: %d %v %s", r.StatusCode, r.Header, body)
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(all), "data: [DONE]\n\n") {
		t.Errorf("the running stream ended with %v: %q", err, all)
	}
	if err := <-stopped; err != nil {
		t.Errorf("shut down: %v", err)
	}
	if _, err := f.client.Get(f.URL + "/healthz"); err == nil {
		t.Error("the listener is still open")
	}
}

func (f *fixture) awaitNotReady(t *testing.T) {
	t.Helper()
	for {
		if r, _ := f.get(t, "/readyz"); r.StatusCode == 503 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// At the limit, one stream that runs and one request that waits are told that the server goes.
func TestShutdownEndsWhatIsLeftAtItsLimit(t *testing.T) {
	f := start(t, options{Sim: sim.Options{Wall: 1, MaxSeqs: 1}})
	resp := f.open(t, `{"stream":true,"max_tokens":400,"ignore_eos":true,"messages":[{"role":"user","content":"x"}]}`)
	defer resp.Body.Close()
	_, r := f.dial(t, "/v1/completions", long("", true))
	f.Await(t, "waited", waiting(1))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if err := f.Shutdown(ctx); err != nil {
		t.Errorf("shut down: %v", err)
	}
	if e := errorEvent(t, readBroken(t, resp.Body)); e.Error.Code != "draining" {
		t.Errorf("the running stream was told %+v", e)
	}
	queued, err := readHTTP(r)
	if err != nil {
		t.Fatal(err)
	}
	defer queued.Body.Close()
	body, _ := io.ReadAll(queued.Body)
	if e := readError(t, body); queued.StatusCode != 503 || e.Error.Code != "draining" {
		t.Errorf("the waiting request was told %d %s", queued.StatusCode, body)
	}
}

// Who has begun a request and does not go on is told so, and holds a shutdown up no longer than the last answer takes.
func TestShutdownDoesNotWaitForRequestsThatDoNotCome(t *testing.T) {
	f := start(t, slow(2))
	var halves []*net.TCPConn
	for _, text := range []string{
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\n",
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{",
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat(" ", 20<<10),
	} {
		c := f.connect(t, 0)
		io.WriteString(c, text)
		halves = append(halves, c)
	}
	idle := f.connect(t, 0)
	resp := f.open(t, `{"stream":true,"max_tokens":30,"ignore_eos":true,"messages":[{"role":"user","content":"x"}]}`)
	defer resp.Body.Close()
	stopped := make(chan error, 1)
	go func() { stopped <- f.Shutdown(context.Background()) }()
	if all, err := io.ReadAll(resp.Body); err != nil || !strings.HasSuffix(string(all), "data: [DONE]\n\n") {
		t.Errorf("the running stream ended with %v: %q", err, all)
	}
	for i, c := range halves {
		if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
			t.Errorf("half a request, %d: %v, %q", i, err, answer)
		}
	}
	if _, err := io.ReadAll(idle); err != nil {
		t.Errorf("an idle connection: %v", err)
	}
	if err := <-stopped; err != nil || strings.Contains(f.Log(), "level=WARN") {
		t.Errorf("shut down: %v\n%s", err, f.Log())
	}
}

// moody is an engine whose clock panics from its n-th reading on: in a handler, or in a stream function.
type moody struct {
	*engine.Engine
	after atomic.Int64
}

func (m *moody) Now() int64 {
	if m.after.Add(-1) < 0 {
		panic("clock fell off")
	}
	return m.Engine.Now()
}

func TestAPanicEndsOneRequestAndNothingElse(t *testing.T) {
	where := []string{"handler", "handler, with the body", "stream function", "end"}
	for after := range where {
		var m *moody
		f := start(t, options{Server: func(c *server.Config) {
			m = &moody{Engine: c.Engine.(*engine.Engine)}
			m.after.Store(int64(after))
			c.Engine = m
		}})
		resp := f.open(t, `{"stream":true,"max_tokens":30,"ignore_eos":true,"messages":[{"role":"user","content":"x"}]}`)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if where[after] == "stream function" && (resp.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Errorf("panic in the stream function: %d, %v: %q", resp.StatusCode, err, body)
		}
		if resp.StatusCode != 200 && readError(t, body).Error.Code != "internal_error" {
			t.Errorf("panic %d: %d %s", after, resp.StatusCode, body)
		}
		m.after.Store(1 << 30)
		if r, _ := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`); r.StatusCode != 200 {
			t.Errorf("panic %d: the next request got %d", after, r.StatusCode)
		}
		f.Await(t, "became idle", idle)
		if !strings.Contains(f.Log(), "clock fell off") {
			t.Errorf("panic %d is not in the log", after)
		}
	}
}

// An interrupt while the server starts must not leave it serving.
func TestShutdownBeforeServe(t *testing.T) {
	f := start(t, options{})
	s, err := server.New(server.Config{Engine: f.Engine, Tokenizer: sim.Tokenizer{}, Info: f.Info})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	ln, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); err != nil {
		t.Error(err)
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}
