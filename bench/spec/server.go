package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sluice-dev/sluice/bench/internal/costs"
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
)

// server is an engine on a model of its own.
type server struct {
	engine *engine.Engine
	tok    gpu.Tokenizer
	info   gpu.Info
	costs  gpu.Costs
	close  func()
	serial int
}

// open loads the model and starts an engine with the step times that are handed in, or else measured.
func open(opt llama.Options, given *gpu.Costs, k int, policy bool) (*server, error) {
	dev, err := llama.Open(opt)
	if err != nil {
		return nil, fmt.Errorf("open device: %w", err)
	}
	s := &server{tok: dev.Tokenizer(), info: dev.Info()}
	cfg := engine.Config{
		Device: dev, Tokenizer: s.tok, Log: slog.New(slog.DiscardHandler),
		Sched: sched.DefaultConfig(s.info.MaxSeqs, s.info.MaxBatchTokens, s.info.ContextTokens, s.info.KVTokens),
	}
	if given != nil {
		s.costs = *given
	} else if s.costs, err = costs.Measure(dev); err != nil {
		return nil, err
	}
	cfg.Sched.MaxDraft, cfg.Sched.Costs = k, s.costs
	unload := func() {}
	if policy {
		if cfg.Policies, unload, err = load(); err != nil {
			return nil, err
		}
	}
	if s.engine, err = engine.New(cfg); err != nil {
		return nil, err
	}
	s.close = func() {
		s.engine.Close()
		unload()
	}
	return s, nil
}

// load puts the policy that ships into a policy host.
func load() (engine.PolicySource, func(), error) {
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		return nil, nil, err
	}
	host := plugins.New(rt, plugins.Options{Log: slog.New(slog.DiscardHandler)})
	for _, m := range policies.Shipped() {
		if m.Name != "spec-off" {
			continue
		}
		if err := host.Push(context.Background(), m.Name, m.Wasm, nil); err != nil {
			return nil, nil, err
		}
	}
	return source{host}, func() { host.Close(); rt.Close() }, nil
}

// source is the policy host as the engine asks for it.
type source struct{ *plugins.Host }

// Who implements engine.PolicySource.
func (s source) Who(id abi.PolicyID) trace.Decider { return trace.Decider{Policy: s.Ref(id).Name} }

// decode runs n streams and returns the tokens per second from the moment at which all of them have one.
func (s *server) decode(w workload, n, tokens, round int) (float64, error) {
	var streams []*engine.Stream
	for i := range n {
		prompt, err := s.tok.Encode(w.prompt(i), true)
		if err != nil {
			return 0, err
		}
		s.serial++
		params := w.params
		params.Seed = uint64(100*round + i)
		st, err := s.engine.Submit(engine.Request{ID: fmt.Sprint(s.serial), Prompt: prompt, MaxTokens: tokens + 1, IgnoreEOS: true, Sampling: params})
		if err != nil {
			return 0, err
		}
		streams = append(streams, st)
	}
	c := clock{streams: n}
	var wg sync.WaitGroup
	for _, st := range streams {
		wg.Go(func() { c.read(st) })
	}
	wg.Wait()
	elapsed := time.Since(c.from)
	for _, st := range streams {
		<-st.Done()
		if r := st.Result(); r.OutputTokens != tokens+1 {
			return 0, fmt.Errorf("a stream ended as %v after %d tokens: %w", r.Outcome, r.OutputTokens, r.Err)
		}
	}
	return float64(c.got-c.before) / elapsed.Seconds(), nil
}

// clock counts tokens from the moment at which all streams have one.
type clock struct {
	mu      sync.Mutex
	streams int
	started int
	got     int
	from    time.Time
	before  int // tokens before it
}

func (c *clock) read(st *engine.Stream) {
	first := true
	for ev := range st.Events() {
		c.mu.Lock()
		c.got += ev.Tokens
		if first {
			if c.started++; c.started == c.streams {
				c.from, c.before = time.Now(), c.got
			}
		}
		first = false
		c.mu.Unlock()
	}
}

// writeCosts shows the measured step times, in ms.
func (s *server) writeCosts(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 4, 1, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "step, ms\t")
	for k := range s.costs.Step[0] {
		fmt.Fprintf(w, "k=%d\t", k)
	}
	fmt.Fprintln(w)
	for b := range s.costs.Step {
		if s.costs.Step[b][0] == 0 {
			continue
		}
		fmt.Fprintf(w, "%d rows\t", 1<<b)
		for _, ns := range s.costs.Step[b] {
			fmt.Fprintf(w, "%.1f\t", float64(ns)/1e6)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
