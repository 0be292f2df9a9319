package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// sharing is a device that copies for nothing, in chunks of eight tokens a step.
func sharing(seats int) sched.Config {
	return kvConfig(seats, 64, func(c *sched.Config) {
		c.CopyMin, c.SpareSeqs, c.SharedKV, c.MaxBatchTokens, c.ContextTokens = 4, 4, true, 8, 128
	})
}

// Requests with one prompt that come together: the first computes it, the others let those behind them go first and then copy.
func TestTheSamePromptIsComputedOnceHoweverManyAskForIt(t *testing.T) {
	cfg := sharing(4)
	cfg.MaxBatchTokens = 16
	g := newRig(t, cfg, answers{batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{ChunkTokens: 8, PrefillBudgetTokens: 16} }})
	prompt := tokens(1, 33)
	for id := uint64(1); id <= 3; id++ {
		g.arrive(&sched.Request{ID: id, MaxTokens: 4}, prompt)
	}
	g.arrive(&sched.Request{ID: 4, MaxTokens: 9}, tokens(2, 8))
	rows := g.rows()
	if len(rows) != 2 || rows[1].Tokens == 0 || rows[4].Tokens == 0 {
		t.Fatalf("the first step's rows: %+v; want the first of the three and the one behind them", rows)
	}
	if st := g.core.State(g.now); st.WaitingDeferred != 2 {
		t.Errorf("policies see %d deferred requests, want 2", st.WaitingDeferred)
	}
	for range 20 {
		if rows = g.rows(); rows[2].Tokens > 0 {
			break
		}
	}
	if rows[2].Start != 32 || rows[3].Start != 32 || rows[2].Tokens != 1 {
		t.Errorf("the others start at %d and %d, want 32", rows[2].Start, rows[3].Start)
	}
	g.run()
	if got := g.core.Stats().PrefillTokens; got != 33+8+1+1 {
		t.Errorf("%d prompt tokens were computed, want 43", got)
	}
	for id := uint64(2); id <= 3; id++ {
		if r := g.ended[id]; r.Cached != 32 || r.Outcome != sched.OutcomeLength {
			t.Errorf("request %d ended as %v, %d tokens cached", id, r.Outcome, r.Cached)
		}
	}
}

// Who waits for a prefix is in the queue like anybody, and its limit counts it.
func TestWhoWaitsForAPrefixCountsInTheQueue(t *testing.T) {
	cfg := sharing(4)
	cfg.MaxWaiting, cfg.MaxBatchTokens = 2, 16
	g := newRig(t, cfg, answers{batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{ChunkTokens: 8, PrefillBudgetTokens: 16} }})
	last := &sched.Request{ID: 4, MaxTokens: 4}
	g.arrive(&sched.Request{ID: 1, MaxTokens: 4}, tokens(1, 40))
	g.step()
	for id := uint64(2); id <= 3; id++ {
		g.arrive(&sched.Request{ID: id, MaxTokens: 4}, tokens(1, 40))
	}
	g.step()
	if st := g.core.State(g.now); st.WaitingDeferred != 2 || st.WaitingRequests != 2 {
		t.Fatalf("%d wait, %d of them for a prefix", st.WaitingRequests, st.WaitingDeferred)
	}
	g.arrive(last, tokens(1, 40))
	if last.Outcome != sched.OutcomeShedAtArrival || last.Verdict.Limit != "queue_requests" {
		t.Errorf("one more than the queue holds ended as %v: %+v", last.Outcome, last.Verdict)
	}
	g.run()
	if r := g.ended[3]; r == nil || r.Outcome != sched.OutcomeLength {
		t.Errorf("the last that waited: %+v", r)
	}
}

// Who waits for a prefix is counted also in a step that has nothing left for newcomers when it has looked at all.
func TestWhoWaitsForAPrefixIsCountedInAFullStep(t *testing.T) {
	cfg := sharing(4)
	cfg.MaxBatchTokens = 16
	g := newRig(t, cfg, nil)
	g.arrive(&sched.Request{ID: 1, MaxTokens: 4}, tokens(1, 80))
	g.step()
	g.arrive(&sched.Request{ID: 2, MaxTokens: 4}, tokens(2, 90))
	g.step()
	g.arrive(&sched.Request{ID: 3, MaxTokens: 4}, tokens(1, 60))
	rows := g.rows()
	if st := g.core.State(g.now); len(rows) != 2 || st.WaitingRequests != 1 || st.WaitingDeferred != 1 {
		t.Errorf("%d rows, %d wait, %d of them for a prefix; want 2, 1, 1", len(rows), st.WaitingRequests, st.WaitingDeferred)
	}
	g.run()
	if st := g.core.State(g.now); st.WaitingDeferred != 0 || g.ended[3].Cached == 0 {
		t.Errorf("at the end %d wait for a prefix; the third found %d tokens", st.WaitingDeferred, g.ended[3].Cached)
	}
}

// Whoever waits for a prefix goes on by itself when the one that computes it is gone, whatever became of it.
func TestWhoWaitsForAPrefixGoesOnWhenItsComputerIsGone(t *testing.T) {
	for name, gone := range map[string]func(g *rig){
		"cancelled": func(g *rig) { g.core.Cancel(g.now, 1, sched.OutcomeCancelledRunning) },
		"failed":    func(g *rig) { g.row = func() bool { return true }; g.step(); g.row = nil },
		"lost":      func(g *rig) { g.lost = func(uint64) bool { return true }; g.step(); g.lost = nil },
		"device":    func(g *rig) { g.reopen(); g.core.DropKV(g.now) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, sharing(1), nil)
			g.arrive(&sched.Request{ID: 1, MaxTokens: 4}, tokens(1, 40))
			g.arrive(&sched.Request{ID: 2, MaxTokens: 4}, tokens(1, 40))
			g.rows()
			gone(g)
			steps := 0
			for ; g.ended[2] == nil; steps++ {
				if steps > 20 {
					t.Fatal("the second one does not go on")
				}
				if !g.step() {
					t.Fatal("the device idles while something waits")
				}
			}
			if r := g.ended[2]; r.Outcome != sched.OutcomeLength {
				t.Errorf("ended as %v", r.Outcome)
			}
			g.run()
		})
	}
}

// What is there but cannot be copied is no reason to wait: its holder may run for long.
func TestNobodyWaitsForWhatItCannotCopy(t *testing.T) {
	for name, change := range map[string]func(*sched.Config){
		"the device cannot copy":           func(c *sched.Config) { c.CopyMin = 0 },
		"it is too short to be worth it":   func(c *sched.Config) { c.CopyMin = 33 },
		"there is no room beside its like": func(c *sched.Config) { c.SharedKV, c.SpareSeqs = false, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sharing(2)
			cfg.MaxBatchTokens = 80
			change(&cfg)
			g := newRig(t, cfg, nil)
			g.arrive(&sched.Request{ID: 1, MaxTokens: 60}, tokens(1, 33))
			g.step()
			g.arrive(&sched.Request{ID: 2, MaxTokens: 2}, tokens(1, 33))
			if rows := g.rows(); rows[2].Tokens == 0 {
				t.Errorf("the second one waits while the first one writes: %+v", rows)
			}
			g.run()
		})
	}
}

// The one that computes a shared prefix has the whole step if all others wait for it.
func TestAPrefixThatOthersWaitForIsComputedAtFullSpeed(t *testing.T) {
	g := newRig(t, sharing(4), nil)
	for id := uint64(1); id <= 3; id++ {
		g.arrive(&sched.Request{ID: id, MaxTokens: 2}, shared(tokens(1, 40), gpu.Token('0'+id)))
	}
	for range 5 {
		if rows := g.rows(); rows[1].Tokens != 8 {
			t.Fatalf("rows %+v; want all eight tokens of the step for the first one", rows)
		}
	}
	if rows := g.rows(); rows[1].Tokens != 1 || rows[2].Start != 40 || rows[3].Start != 40 {
		t.Errorf("rows %+v", rows)
	}
	g.run()
}

// Nobody is pushed out for a request that would then wait for a prefix.
func TestNobodyLosesItsPlaceToOneThatWaitsForAPrefix(t *testing.T) {
	g := newRig(t, sharing(2), policies["class-preempts"])
	g.arrive(&sched.Request{ID: 1, MaxTokens: 4, Class: 1}, tokens(1, 40))
	g.arrive(&sched.Request{ID: 2, MaxTokens: 9, Class: 2}, tokens(2, 3))
	g.step()
	g.step()
	g.arrive(&sched.Request{ID: 3, MaxTokens: 4, Class: 0}, tokens(1, 40))
	for range 3 {
		g.step()
		if n := g.core.Stats().Preemptions; n != 0 || g.core.Running() != 2 {
			t.Fatalf("%d preemptions while the prefix is computed, %d run", n, g.core.Running())
		}
	}
	g.run()
	if r := g.ended[3]; r.Cached != 36 || g.core.Stats().Preemptions != 1 {
		t.Errorf("%d tokens were cached, %d preemptions", r.Cached, g.core.Stats().Preemptions)
	}
}
