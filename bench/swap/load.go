package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// server is an engine on a simulated device with one policy.
type server struct {
	rt      *wazero.Runtime
	counted *counted
	host    *plugins.Host
	engine  *engine.Engine

	mu       sync.Mutex
	recorded map[string]int
	next     int
}

func serve(wasm []byte) (*server, error) {
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		return nil, fmt.Errorf("start runtime: %w", err)
	}
	s := &server{rt: rt, counted: &counted{Runtime: rt}, recorded: map[string]int{}}
	s.host = plugins.New(s.counted, plugins.Options{})
	if err := s.host.SetAll(context.Background(), []plugins.Policy{{Name: "shed", Wasm: wasm}}); err != nil {
		s.close()
		return nil, err
	}
	profile, err := sim.ParseProfile("sim:cpu-smollm2")
	if err != nil {
		s.close()
		return nil, err
	}
	dev := sim.Open(profile, sim.Options{Wall: 1})
	info := dev.Info()
	s.engine, err = engine.New(engine.Config{
		Device: dev, Tokenizer: sim.Tokenizer{}, Policies: named{s.host}, Log: quiet, Record: s.record,
		Sched: sched.DefaultConfig(info.MaxSeqs, info.MaxBatchTokens, info.ContextTokens, info.KVTokens),
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) close() {
	if s.engine != nil {
		_ = s.engine.Close()
	}
	_ = s.host.Close()
	_ = s.rt.Close()
}

// named gives the engine the names of policies.
type named struct{ *plugins.Host }

// Who implements engine.PolicySource.
func (n named) Who(id abi.PolicyID) trace.Decider {
	r := n.Ref(id)
	return trace.Decider{Policy: r.Name, Digest: r.Digest, Fallback: r.Fallback}
}

func (s *server) record(r trace.Record) {
	s.mu.Lock()
	s.recorded[r.ID]++
	s.mu.Unlock()
}

// figures are what the clients of one run saw.
type figures struct {
	requests int
	gaps     []time.Duration // between two emissions of one stream, sorted
}

func (f figures) gap(percent int) time.Duration { return f.gaps[(len(f.gaps)-1)*percent/100] }

func (f figures) String() string {
	return fmt.Sprintf("%d requests, gap p50 %v, p99 %v, worst %v", f.requests,
		f.gap(50).Round(10*time.Microsecond), f.gap(99).Round(10*time.Microsecond), f.gap(100).Round(10*time.Microsecond))
}

// load keeps so many streams busy while what runs, and then waits for the last one. It fails when a request is lost, fails,
// or is recorded other than once.
func (s *server) load(streams int, what func() error) (f figures, err error) {
	ended := make(chan struct{})
	var mu sync.Mutex
	var wg sync.WaitGroup
	var ids []string
	var failed error
	for range streams {
		wg.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				id, gaps, err := s.request()
				mu.Lock()
				ids, f.gaps = append(ids, id), append(f.gaps, gaps...)
				if err != nil && failed == nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	err = what()
	close(ended)
	wg.Wait()
	if err != nil {
		return f, err
	}
	if failed != nil {
		return f, failed
	}
	f.requests = len(ids)
	slices.Sort(f.gaps)
	return f, s.once(ids)
}

// request runs one to its end.
func (s *server) request() (id string, gaps []time.Duration, err error) {
	s.mu.Lock()
	s.next++
	id = "r" + strconv.Itoa(s.next)
	s.mu.Unlock()
	prompt, err := sim.Tokenizer{}.Encode("What does a swap cost?", true)
	if err != nil {
		return id, nil, fmt.Errorf("encode prompt: %w", err)
	}
	const tokens = 48
	st, err := s.engine.Submit(engine.Request{ID: id, Arrival: s.engine.Now(), Prompt: prompt, MaxTokens: tokens, IgnoreEOS: true, Stream: true, TTL: int64(time.Hour)})
	if err != nil {
		return id, nil, fmt.Errorf("submit %s: %w", id, err)
	}
	last := time.Time{}
	for range st.Events() {
		now := time.Now()
		if !last.IsZero() {
			gaps = append(gaps, now.Sub(last))
		}
		last = now
	}
	<-st.Done()
	if r := st.Result(); r.OutputTokens != tokens {
		return id, gaps, fmt.Errorf("%s ended as %v after %d tokens: %w", id, r.Outcome, r.OutputTokens, r.Err)
	}
	return id, gaps, nil
}

// once checks that every request was recorded, and no more than once.
func (s *server) once(ids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if n := s.recorded[id]; n != 1 {
			return fmt.Errorf("%s was recorded %d times", id, n)
		}
	}
	return nil
}
