package sched_test

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// oneSeat lets requests of a better class take the only place.
func oneSeat(t *testing.T, change func(*sched.Config)) *rig {
	t.Helper()
	cfg := kvConfig(1, 16, func(c *sched.Config) {
		c.MaxSaved, c.Costs = 100, gpu.Costs{PrefillToken: 10, SaveToken: 2}
		if change != nil {
			change(c)
		}
	})
	return newRig(t, cfg, policies["class-preempts"])
}

// preempted is a request of 16 + 3 tokens that lost its place to another, which needs all KV.
func (g *rig) preempted(id uint64) *sched.Request {
	g.Helper()
	r := &sched.Request{ID: id, MaxTokens: 9, Class: 2}
	g.arrive(r, tokens(int(id), 16))
	for range 3 {
		g.step()
	}
	g.arrive(&sched.Request{ID: id + 100, MaxTokens: 2, Class: 1}, tokens(int(id)+5, 60))
	g.step()
	if r.Preemptions != 1 {
		g.Fatalf("request %d was preempted %d times", id, r.Preemptions)
	}
	return r
}

// A preempted request is saved or computed again, whichever takes less time, and its answer is the same.
func TestPreemptionSavesOrComputesAgainWhateverIsCheaper(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*sched.Config)
		saved, lost int
	}{
		"saving is cheaper":    {nil, 18, 0},
		"computing is cheaper": {func(c *sched.Config) { c.Costs.SaveToken = 11 }, 0, 18},
		"nothing is measured":  {func(c *sched.Config) { c.Costs = gpu.Costs{} }, 0, 18},
		"there is no room":     {func(c *sched.Config) { c.MaxSaved = 15 }, 0, 18},
		"the device cannot":    {func(c *sched.Config) { c.MaxSaved = 0 }, 0, 18},
	} {
		t.Run(name, func(t *testing.T) {
			g := oneSeat(t, c.change)
			r := g.preempted(1)
			g.run()
			st := g.core.Stats()
			if int(st.SavedTokens) != c.saved || int(st.RestoredTokens) != c.saved || r.TokensLost != c.lost || int(st.RecomputedTokens) != c.lost {
				t.Errorf("%d tokens saved, %d restored, %d lost, %d computed again", st.SavedTokens, st.RestoredTokens, r.TokensLost, st.RecomputedTokens)
			}
			if want := alone(t, tokens(1, 16), 9); !slices.Equal(g.outputs[1], want) {
				t.Errorf("answered %v, want %v", g.outputs[1], want)
			}
			if c.lost > 0 && st.RecomputePPM() != uint32(uint64(c.lost)*1_000_000/st.ComputedTokens) {
				t.Errorf("the tax is %d ppm of %d tokens", st.RecomputePPM(), st.ComputedTokens)
			}
		})
	}
}

// What is still cached when the request comes back costs nothing: it goes before what was saved.
func TestAPreemptedRequestFindsItsOwnTextAgain(t *testing.T) {
	for name, costs := range map[string]gpu.Costs{"computed again": {}, "saved": {PrefillToken: 10, SaveToken: 9}} {
		g := oneSeat(t, func(c *sched.Config) { c.SpareSeqs, c.Costs = 2, costs })
		r := &sched.Request{ID: 1, MaxTokens: 9, Class: 2}
		g.arrive(r, tokens(1, 16))
		for range 3 {
			g.step()
		}
		g.arrive(&sched.Request{ID: 2, MaxTokens: 2, Class: 1}, tokens(2, 8)) // takes the place, not the KV
		g.run()
		if r.Preemptions != 1 || r.TokensLost != 2 || len(g.saved) != 0 || g.ops[sched.OpRestore] != 0 {
			t.Errorf("%s: %d preemptions, %d tokens lost, %d restored; want the 16 tokens of full blocks found again", name, r.Preemptions, r.TokensLost, g.ops[sched.OpRestore])
		}
	}
}

// Who has waited longest keeps what was saved: the room goes to those who go on first.
func TestRoomForWhatIsSavedGoesToThoseWhoGoOnFirst(t *testing.T) {
	cfg := kvConfig(2, 32, func(c *sched.Config) {
		c.MaxSaved, c.Costs = 20, gpu.Costs{PrefillToken: 10, SaveToken: 2}
	})
	g := newRig(t, cfg, policies["class-preempts"])
	first, second := &sched.Request{ID: 1, MaxTokens: 9, Class: 2}, &sched.Request{ID: 2, MaxTokens: 9, Class: 3}
	g.arrive(first, tokens(1, 16))
	g.step()
	g.arrive(second, tokens(2, 16))
	g.step()
	g.arrive(&sched.Request{ID: 11, MaxTokens: 9, Class: 1}, tokens(6, 62)) // pushes out the worse one
	g.step()
	if second.Preemptions != 1 || len(g.saved) != 1 || g.saved[2] == nil {
		t.Fatalf("the second one was preempted %d times, saved: %v", second.Preemptions, g.saved)
	}
	g.arrive(&sched.Request{ID: 12, MaxTokens: 2, Class: 1}, tokens(7, 30))
	g.step()
	if first.Preemptions != 1 || len(g.saved) != 1 || g.saved[1] == nil {
		t.Errorf("the first one was preempted %d times, saved: %v; want its own", first.Preemptions, g.saved)
	}
	g.run()
	if first.TokensLost != 0 || second.TokensLost == 0 {
		t.Errorf("tokens lost: %d and %d", first.TokensLost, second.TokensLost)
	}
}

// What was saved is forgotten as soon as nobody can want it.
func TestWhatWasSavedIsForgottenWithItsRequest(t *testing.T) {
	for name, end := range map[string]func(g *rig){
		"cancelled": func(g *rig) { g.core.Cancel(g.now, 1, sched.OutcomeCancelledRunning) },
		"pressure":  func(g *rig) { g.core.SetPressure(sched.Pressure{NoSaved: true}) },
		"told so":   func(g *rig) { g.core.ForgetSaved(1) },
	} {
		g := oneSeat(t, nil)
		g.preempted(1)
		if len(g.saved) != 1 {
			t.Fatalf("%d are saved", len(g.saved))
		}
		end(g)
		g.check()
		g.run()
		if g.saved[1] != nil || g.ops[sched.OpForget] != 1 || g.ops[sched.OpRestore] != 0 {
			t.Errorf("%s: %d are saved, %d were forgotten, %d restored", name, len(g.saved), g.ops[sched.OpForget], g.ops[sched.OpRestore])
		}
	}
}

// A save that failed is a request that computes again, not one that fails.
func TestASaveThatFailsCostsTimeOnly(t *testing.T) {
	g := oneSeat(t, nil)
	g.save = func() bool { return true }
	r := g.preempted(1)
	g.run()
	if r.Outcome != sched.OutcomeLength || r.TokensLost != 18 || g.ops[sched.OpRestore] != 0 {
		t.Errorf("ended as %v, %d tokens lost, %d restored", r.Outcome, r.TokensLost, g.ops[sched.OpRestore])
	}
}

// Of equals, the one that loses least gives way, not the one that came last: a long prompt is not computed twice for one block.
func TestTheVictimIsTheOneThatCostsLeastToStop(t *testing.T) {
	for _, limit := range []int{8, 0} {
		cfg := kvConfig(3, 12, nil)
		cfg.MaxPreemptions = limit
		g := newRig(t, cfg, nil)
		g.arrive(&sched.Request{ID: 1, MaxTokens: 20}, tokens(1, 11)) // soon needs a block that is not there
		short, long := &sched.Request{ID: 2, MaxTokens: 12}, &sched.Request{ID: 3, MaxTokens: 12}
		g.arrive(short, tokens(2, 5))
		g.arrive(long, tokens(3, 25))
		for g.core.Stats().Preemptions == 0 {
			g.step()
		}
		if short.Preemptions != 1 || long.Preemptions != 0 {
			t.Errorf("preemptions: short %d, long %d; want the short one to give way", short.Preemptions, long.Preemptions)
		}
		if limit == 0 && (short.Outcome != sched.OutcomePreemptFailed || short.Verdict.Limit != "preemptions") {
			t.Errorf("the short one ended as %v: %+v", short.Outcome, short.Verdict)
		}
		g.run()
	}
}

// A request that the next preemption would end is spared as long as another one can give way.
func TestARequestOnItsLastChanceIsSparedWhileAnotherCanGiveWay(t *testing.T) {
	cfg := kvConfig(3, 12, func(c *sched.Config) { c.MaxPreemptions = 1 })
	g := newRig(t, cfg, nil)
	g.arrive(&sched.Request{ID: 1, MaxTokens: 20}, tokens(1, 11))
	short, long := &sched.Request{ID: 2, MaxTokens: 12}, &sched.Request{ID: 3, MaxTokens: 12}
	g.arrive(short, tokens(2, 5))
	g.lost = func(id uint64) bool { return id == 2 }
	g.step()
	g.lost = nil
	g.arrive(long, tokens(3, 25))
	g.run()
	if short.Outcome != sched.OutcomeLength || long.Outcome != sched.OutcomeLength || long.Preemptions == 0 {
		t.Errorf("short %v after %d preemptions, long %v after %d", short.Outcome, short.Preemptions, long.Outcome, long.Preemptions)
	}
}

// A policy that lets everything in runs the KV out. Whoever runs gives way by rank, whoever could never fit is refused at once, and all
// others end with an answer.
func TestAPolicyThatAdmitsTooMuchRunsOutOfKVAndNothingIsStuck(t *testing.T) {
	all := answers{admit: func(*abi.Row) abi.Verdict { return abi.Verdict{Action: uint8(abi.ActionAdmit)} },
		batch: func(*abi.State) abi.BatchPlan {
			return abi.BatchPlan{MaxSeqs: 1 << 31, MaxBatchedTokens: 1 << 31, KVAdmitCeilingPPM: 1 << 31}
		}}
	for name, change := range map[string]func(*sched.Config){
		"places only": nil,
		"shared":      func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 4, true },
		"saved":       func(c *sched.Config) { c.MaxSaved, c.Costs = 100, gpu.Costs{PrefillToken: 10, SaveToken: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := kvConfig(8, 12, change)
			cfg.MaxPreemptions = 100
			cfg.ContextTokens = 200
			g := newRig(t, cfg, all)
			for id := uint64(1); id <= 12; id++ {
				g.arrive(&sched.Request{ID: id, MaxTokens: 20}, tokens(int(id), 9))
			}
			never := &sched.Request{ID: 99, MaxTokens: 1}
			g.arrive(never, tokens(1, 60))
			if never.Outcome != sched.OutcomeShedAtArrival || never.Verdict.Status != 400 || never.Verdict.Limit != "kv_cache" {
				t.Errorf("what can never fit ended as %v, %+v", never.Outcome, never.Verdict)
			}
			g.run()
			for id := uint64(1); id <= 12; id++ {
				if r := g.ended[id]; r.Outcome != sched.OutcomeLength || r.Generated != 20 {
					t.Errorf("request %d ended as %v with %d tokens", id, r.Outcome, r.Generated)
				}
			}
			if n := g.core.Stats().Preemptions; n == 0 {
				t.Error("nothing was preempted: the KV did not run out")
			} else {
				t.Logf("%d preemptions", n)
			}
		})
	}
}

// A request that was saved in this step does not come back in it: the device may yet say that it could not save it.
func TestWhoIsSavedInAStepDoesNotComeBackInIt(t *testing.T) {
	g := newRig(t, kvConfig(4, 10, func(c *sched.Config) {
		c.MaxSaved, c.Costs = 100, gpu.Costs{PrefillToken: 10, SaveToken: 1}
	}), nil)
	g.save = func() bool { return true }
	for id, prompt := range []int{7, 7, 2, 18} { // the first two need a block each in the third step; the others give way
		g.arrive(&sched.Request{ID: uint64(id + 1), MaxTokens: 8}, tokens(id, prompt))
	}
	g.step()
	g.step()
	rows := g.rows()
	if n := g.core.Stats().Preemptions; n != 2 || len(rows) != 2 || rows[1].Tokens != 1 || rows[2].Tokens != 1 {
		t.Errorf("%d preemptions, rows %+v", n, rows)
	}
	g.run()
}

// A step that fails before it restores leaves nothing behind.
func TestWhatAFailedStepWasToRestoreIsForgotten(t *testing.T) {
	g := oneSeat(t, nil)
	r := g.preempted(1)
	for g.ended[101] == nil {
		g.step()
	}
	g.op = func() bool { return true }
	g.step()
	g.op = nil
	if r.Outcome != sched.OutcomeFailed || len(g.saved) != 1 {
		t.Fatalf("ended as %v, %d are saved", r.Outcome, len(g.saved))
	}
	g.ask(2, tokens(2, 8), 1)
	if len(g.saved) != 0 {
		t.Errorf("%d are saved for nobody", len(g.saved))
	}
}
