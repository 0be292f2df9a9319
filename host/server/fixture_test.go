package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/server"
	"github.com/sluice-dev/sluice/host/trace"
	"go.uber.org/goleak"
)

// The HTTP library's pool sleeps for ten seconds before it notices that it was stopped, and its clock is never stopped.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

const simContext = 512

// fixture is a server on a real engine on the simulated device, with everything that it logged and recorded.
type fixture struct {
	*server.Server
	engine *engine.Engine
	url    string
	addr   string
	client *http.Client
	logs   *lines

	mu      sync.Mutex
	records []trace.Record
}

// options of a fixture; the zero value computes at once.
type options struct {
	sim    sim.Options
	engine func(*engine.Config)
	server func(*server.Config)
}

func start(t testing.TB, o options) *fixture {
	t.Helper()
	profile, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	if o.sim.MaxSeqs == 0 {
		o.sim.MaxSeqs = 4
	}
	o.sim.KVTokens, o.sim.MaxBatchTokens, o.sim.ContextTokens = 2048, 64, simContext
	f := &fixture{logs: &lines{}}
	dev := sim.Open(profile, o.sim)
	ec := engine.Config{
		Device: dev, Tokenizer: sim.Tokenizer{}, Sched: sched.DefaultConfig(o.sim.MaxSeqs, 64, simContext, 2048),
		Classes: server.DefaultClasses(), Record: f.record, Log: slog.New(slog.NewTextHandler(f.logs, nil)),
	}
	if o.engine != nil {
		o.engine(&ec)
	}
	if f.engine, err = engine.New(ec); err != nil {
		t.Fatal(err)
	}
	sc := server.Config{Engine: f.engine, Tokenizer: sim.Tokenizer{}, Info: dev.Info(), Log: slog.New(slog.NewTextHandler(f.logs, nil))}
	if o.server != nil {
		o.server(&sc)
	}
	if f.Server, err = server.New(sc); err != nil {
		t.Fatal(err)
	}
	f.serve(t)
	return f
}

func (f *fixture) serve(t testing.TB) {
	ln, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.addr = ln.Addr().String()
	f.url = "http://" + f.addr
	f.client = &http.Client{Transport: &http.Transport{}}
	served := make(chan error, 1)
	go func() { served <- f.Serve(ln) }()
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := f.Shutdown(ctx); err != nil {
			t.Errorf("shut down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := f.engine.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (f *fixture) record(r trace.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.records = append(f.records, r)
}

func (f *fixture) recorded() []trace.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]trace.Record(nil), f.records...)
}

// post sends a body and returns the whole answer.
func (f *fixture) post(t testing.TB, path, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, f.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return f.do(t, req)
}

func (f *fixture) do(t testing.TB, req *http.Request) (*http.Response, []byte) {
	t.Helper()
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	return resp, body
}

func (f *fixture) get(t testing.TB, path string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, f.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.do(t, req)
}

// dial sends a request by hand and returns the connection with a reader of what comes back.
func (f *fixture) dial(t testing.TB, path, body string, headers ...string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var head bytes.Buffer
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", path, len(body))
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&head, "%s: %s\r\n", headers[i], headers[i+1])
	}
	head.WriteString("\r\n" + body)
	if _, err := c.Write(head.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn), bufio.NewReader(c)
}

// snapshot is the engine's state.
func (f *fixture) snapshot(t testing.TB) engine.Snapshot {
	t.Helper()
	s, err := f.engine.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// await waits until the engine's state is as wanted.
func (f *fixture) await(t testing.TB, what string, ok func(engine.Snapshot) bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		if ok(f.snapshot(t)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never %s: %+v", what, f.snapshot(t).Stats)
		}
		time.Sleep(time.Millisecond)
	}
}

func idle(s engine.Snapshot) bool {
	return s.State.Running == 0 && s.State.WaitingRequests == 0 && s.State.BlocksFree == s.State.BlocksTotal
}

func running(n uint32) func(engine.Snapshot) bool {
	return func(s engine.Snapshot) bool { return s.State.Running == n }
}

func waiting(n uint32) func(engine.Snapshot) bool {
	return func(s engine.Snapshot) bool { return s.State.WaitingRequests == n }
}

// apiError is the error object of an answer.
type apiError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	} `json:"error"`
}

func readError(t testing.TB, body []byte) apiError {
	t.Helper()
	var e apiError
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" || e.Error.Code == "" {
		t.Fatalf("not an error object: %v\n%s", err, body)
	}
	return e
}

// lines collects a log. It may be used from any goroutine.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
