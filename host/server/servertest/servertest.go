// Package servertest starts a whole server inside of a test: the real API over a real engine, on the simulated device or
// on the model that set-up installed.
//
// It is not a stub: what answers is what serves.
//
//	s := servertest.Start(t, servertest.Options{})
//	resp, err := http.Post(s.URL+"/v1/completions", "application/json", body)
package servertest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/server"
	"github.com/sluice-dev/sluice/host/trace"
)

// Context is the context of the simulated model, unless Options say otherwise.
const Context = 512

const (
	kvTokens    = 2048
	batchTokens = 64
	places      = 4
	patience    = 20 * time.Second
)

// Options of Start. The zero value is a simulated device that computes at once.
type Options struct {
	Sim    sim.Options
	Engine func(*engine.Config) // changes the engine before it starts
	Server func(*server.Config) // changes the server before it starts
}

// Server is a server that serves, with everything that it recorded and logged.
type Server struct {
	*server.Server
	Engine *engine.Engine
	Sched  sched.Config // of the engine at its start
	Info   gpu.Info
	URL    string // http://HOST:PORT
	Addr   string // HOST:PORT

	mu      sync.Mutex
	records []trace.Record
	log     bytes.Buffer
}

// Start serves the simulated model until the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	profile, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	if o.Sim.MaxSeqs == 0 {
		o.Sim.MaxSeqs = places
	}
	if o.Sim.ContextTokens == 0 {
		o.Sim.ContextTokens = Context
	}
	o.Sim.KVTokens, o.Sim.MaxBatchTokens = kvTokens, batchTokens
	return serve(t, sim.Open(profile, o.Sim), sim.Tokenizer{}, o)
}

// StartModel serves the model that set-up installed, or skips the test where there is none.
func StartModel(t testing.TB, o Options) *Server {
	t.Helper()
	dev := OpenModel(t)
	return serve(t, dev, dev.Tokenizer(), o)
}

// OpenModel opens the model that set-up installed, small, or skips the test where there is none. Its caller, or the engine
// that gets it, closes it.
func OpenModel(t testing.TB) *llama.Device {
	t.Helper()
	libs, _, model, err := llama.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{libs, model} {
		if _, err := os.Stat(p); err != nil {
			if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
				t.Fatalf("%v: run make setup", err)
			}
			t.Skipf("%v: run make setup to test on the real model", err)
		}
	}
	// One thread: two wait for each other when other tests take the CPUs.
	dev, err := llama.Open(llama.Options{LibDir: libs, ModelPath: model, Device: llama.DeviceCPU, Threads: 1, KVTokens: kvTokens, MaxSeqs: places, MaxBatchTokens: 256})
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

func serve(t testing.TB, dev gpu.Device, tok gpu.Tokenizer, o Options) *Server {
	t.Helper()
	s := &Server{Info: dev.Info()}
	log := slog.New(slog.NewTextHandler((*logWriter)(s), nil))
	size := min(s.Info.ContextTokens, s.Info.KVTokens)
	ec := engine.Config{
		Device: dev, Tokenizer: tok, Sched: sched.DefaultConfig(s.Info.MaxSeqs, s.Info.MaxBatchTokens, size, s.Info.KVTokens),
		Classes: server.DefaultClasses(), Record: s.record, Log: log,
	}
	if o.Engine != nil {
		o.Engine(&ec)
	}
	s.Sched = ec.Sched
	var err error
	if s.Engine, err = engine.New(ec); err != nil {
		t.Fatal(err)
	}
	sc := server.Config{Engine: s.Engine, Tokenizer: tok, Info: s.Info, Log: log, Ready: s.Engine.Ready}
	if o.Server != nil {
		o.Server(&sc)
	}
	if s.Server, err = server.New(sc); err != nil {
		t.Fatal(err)
	}
	ln, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = ln.Addr().String()
	s.URL = "http://" + s.Addr
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() { s.stop(t, served) })
	return s
}

func (s *Server) stop(t testing.TB, served chan error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("shut down: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := s.Engine.Close(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("the server's log:\n%s", s.Log())
	}
}

func (s *Server) record(r trace.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, r)
}

// Records are those of the requests that have ended so far.
func (s *Server) Records() []trace.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]trace.Record(nil), s.records...)
}

type logWriter Server

func (l *logWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// Log is what server and engine logged so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Snapshot is the engine's state.
func (s *Server) Snapshot(t testing.TB) engine.Snapshot {
	t.Helper()
	snap, err := s.Engine.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// Await waits until ok, and fails the test when that takes far too long.
func (s *Server) Await(t testing.TB, what string, ok func(engine.Snapshot) bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(s.Snapshot(t)); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the engine never %s: %+v", what, s.Snapshot(t).Stats)
		}
	}
}

// Idle is for Await: nothing runs, nothing waits, and all KV blocks are free.
func Idle(s engine.Snapshot) bool {
	return s.State.Running == 0 && s.State.WaitingRequests == 0 && s.State.BlocksFree == s.State.BlocksTotal
}
