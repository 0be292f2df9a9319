package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
)

// named gives the engine the names of policies.
type named struct{ *plugins.Host }

// Who implements engine.PolicySource.
func (n named) Who(id abi.PolicyID) trace.Decider {
	r := n.Ref(id)
	return trace.Decider{Policy: r.Name, Digest: r.Digest, Fallback: r.Fallback}
}

// shipped is a policy host with the policies that ship.
func shipped(t *testing.T) *plugins.Host {
	t.Helper()
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := plugins.New(rt, plugins.Options{})
	var chain []plugins.Policy
	for _, m := range policies.Shipped() {
		chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm})
	}
	if err := h.SetAll(context.Background(), chain); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(); _ = rt.Close() })
	return h
}

// busy keeps every CPU at work until the test ends.
func busy(t *testing.T, n int) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for x := uint64(1); !stop.Load(); x = x*6364136223846793005 + 1 {
			}
		})
	}
	t.Cleanup(func() { stop.Store(true); wg.Wait() })
}

// Without CPU time the server is slow, and nothing else: what a policy may use is counted in instructions, so none is found
// to be at fault because the machine is busy.
func TestWithoutCPUTimeEverythingHoldsAndNoPolicyIsBlamed(t *testing.T) {
	const requests = 8
	texts := func(h *plugins.Host) map[string]string {
		f := start(t, sim.Options{MaxSeqs: 4}, func(c *engine.Config) {
			c.Policies = named{h}
			c.Sched.MaxDraft = 8
		})
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]string{}
		for i := range requests {
			s := f.submit(t, engine.Request{ID: fmt.Sprint(i), Prompt: prompt(fmt.Sprintf("say %d and %d again", i, i)), MaxTokens: 12, IgnoreEOS: true,
				Class: uint8(i % 2), Sampling: spec.Params{Temperature: float64(i % 2), Seed: uint64(i)}})
			wg.Go(func() {
				text, _ := read(s)
				if s.Result().Outcome == sched.OutcomeLength {
					mu.Lock()
					got[s.Result().Outcome.String()+fmt.Sprint(i)] = text
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		f.settled(t)
		return got
	}
	want := texts(shipped(t))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := shipped(t)
	busy(t, 3)
	got := texts(h)
	if len(want) != requests || len(got) != requests {
		t.Errorf("%d and %d of %d requests were answered", len(want), len(got), requests)
	}
	for id, text := range want {
		if got[id] != text {
			t.Errorf("%s: got %q, want %q", id, got[id], text)
		}
	}
	blameless(t, h)
}

// blameless checks that policies were asked, always answered, and are all in force.
func blameless(t *testing.T, h *plugins.Host) {
	t.Helper()
	asked := uint64(0)
	for _, p := range h.List() {
		if p.State != plugins.StateActive {
			t.Errorf("policy %s is %v", p.Name, p.State)
		}
		for _, c := range p.Calls {
			asked += c.Calls
			for why, n := range c.Fallbacks {
				if n > 0 {
					t.Errorf("policy %s fell back %d times at %s: %s", p.Name, n, c.Hook, why)
				}
			}
		}
	}
	if asked == 0 {
		t.Error("no policy was asked anything")
	}
}
