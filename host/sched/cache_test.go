package sched_test

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// kvConfig is a device of blocks of four tokens; change may be nil.
func kvConfig(seats, blocks int, change func(*sched.Config)) sched.Config {
	cfg := sched.DefaultConfig(seats, 64, blocks*4, blocks*4)
	cfg.BlockSize, cfg.Blocks, cfg.ChunkTokens = 4, blocks, 64
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// ask lets a request run to its end and returns it.
func (g *rig) ask(id uint64, prompt []gpu.Token, maxTokens int) *sched.Request {
	g.Helper()
	g.arrive(&sched.Request{ID: id, MaxTokens: maxTokens}, prompt)
	g.run()
	return g.ended[id]
}

// rows runs a step and returns its rows by request.
func (g *rig) rows() map[uint64]sched.Row {
	rows := map[uint64]sched.Row{}
	g.watch = func(b *sched.Batch) {
		for _, r := range b.Rows {
			rows[r.Req.ID] = r
		}
	}
	g.step()
	g.watch = nil
	return rows
}

// What the device can do decides how a prefix is found again; that it is found, and that it is never the whole prompt, does not
// depend on it.
func TestAPromptThatBeginsLikeAnEarlierOneIsNotComputedAgain(t *testing.T) {
	for name, change := range map[string]func(*sched.Config){
		"places only":                  nil,
		"copies":                       func(c *sched.Config) { c.CopyMin = 4 },
		"copies, further sequences":    func(c *sched.Config) { c.CopyMin, c.SpareSeqs = 4, 4 },
		"shared, further sequences":    func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 4, true },
		"copies only of more than are": func(c *sched.Config) { c.CopyMin, c.SpareSeqs = 100, 4 },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, kvConfig(2, 32, change), nil)
			first := g.ask(1, tokens(1, 16), 6)
			if first.Cached != 0 {
				t.Errorf("%d tokens were cached before the first request", first.Cached)
			}
			again := g.ask(2, tokens(1, 16), 6)
			if again.Cached != 12 {
				t.Errorf("of the same 16 tokens %d were cached, want 12: the last one's logits are needed", again.Cached)
			}
			turn := shared(shared(tokens(1, 16), g.outputs[2]...), 'n', 'e', 'x', 't')
			if next := g.ask(3, turn, 6); next.Cached != 20 {
				t.Errorf("of the conversation's 21 computed tokens %d were cached, want 20", next.Cached)
			}
			if other := g.ask(4, tokens(2, 16), 6); other.Cached != 0 {
				t.Errorf("%d tokens of another text were found", other.Cached)
			}
			st := g.core.Stats()
			if st.PrefixQueries != 16+16+26+16 || st.PrefixHits != 32 {
				t.Errorf("%d of %d tokens were found", st.PrefixHits, st.PrefixQueries)
			}
		})
	}
}

// A cached sequence whose text goes on is taken over as it is.
func TestASequenceThatGoesOnIsTakenOverWithoutACopy(t *testing.T) {
	g := newRig(t, kvConfig(2, 32, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 1, 4, true }), nil)
	g.ask(1, tokens(1, 16), 6)
	g.ask(2, shared(shared(tokens(1, 16), g.outputs[1]...), 'x'), 6)
	if n := g.ops[sched.OpCopy]; n != 0 {
		t.Errorf("%d copies", n)
	}
	// A text that leaves it in the middle gets a copy, and the longer one stays.
	g.ask(3, shared(tokens(1, 16)[:8], 'q', 'r', 's', 't'), 2)
	if n := g.ops[sched.OpCopy]; n != 1 {
		t.Errorf("%d copies, want 1", n)
	}
	if r := g.ask(4, shared(shared(tokens(1, 16), g.outputs[1]...), 'x', 'y'), 2); r.Cached != 20 {
		t.Errorf("%d tokens of the longer text are still cached, want 20", r.Cached)
	}
}

// With shared KV a prefix of 16 tokens takes four blocks, however many run on it; else it takes four for each.
func TestACopiedPrefixIsCountedOnceWhereTheDeviceSharesIt(t *testing.T) {
	for _, share := range []bool{true, false} {
		g := newRig(t, kvConfig(4, 40, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 4, share }), nil)
		g.ask(1, tokens(1, 16), 1)
		for id := uint64(2); id < 6; id++ {
			g.arrive(&sched.Request{ID: id, MaxTokens: 8}, shared(tokens(1, 16), gpu.Token('0'+id), 'z'))
		}
		g.step()
		want := 4 + 4*1
		if !share {
			want = 4 * 5
		}
		if got := g.core.BlocksUsed(); got != want || g.core.Running() != 4 {
			t.Errorf("shared %v: %d requests hold %d blocks, want %d", share, g.core.Running(), got, want)
		}
		if got := g.dev.Held(); share && got != 16+4*2 || !share && got != 4*18 {
			t.Errorf("shared %v: the device holds %d tokens", share, got)
		}
		g.run()
	}
}

// What is cached counts as free: it is given up as soon as something needs the room, what was wanted longest ago first, and
// from its end.
func TestCachedBlocksAreGivenUpLeafFirstAndLeastRecentlyUsedFirst(t *testing.T) {
	g := newRig(t, kvConfig(1, 16, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 3, true }), nil)
	g.ask(1, tokens(1, 20), 1)
	g.ask(2, tokens(2, 20), 1)
	if used, cached := g.core.BlocksUsed(), g.core.BlocksCached(); used != 0 || cached != 10 {
		t.Fatalf("%d blocks used, %d cached; want 0 and 10", used, cached)
	}
	st := g.core.State(g.now)
	if st.BlocksFree != 16 || st.BlocksCached != 10 {
		t.Errorf("policies see %d free blocks, %d of them cached; want 16 and 10", st.BlocksFree, st.BlocksCached)
	}
	g.ask(3, tokens(1, 20)[:12], 1) // the first text is wanted again, but for its end
	g.ask(4, tokens(3, 32), 1)      // needs eight blocks, six are free
	for _, c := range []struct {
		seed, want int
		why        string
	}{{2, 20, "wanted later"}, {1, 12, "its end was wanted longest ago"}} {
		if got := g.cachedOf(tokens(c.seed, 24)); got != c.want {
			t.Errorf("of text %d, %d tokens are cached, want %d: %s", c.seed, got, c.want, c.why)
		}
	}
	if n := g.core.Stats().EvictedBlocks; n != 2 {
		t.Errorf("%d blocks were given up, want 2", n)
	}
}

// cachedOf is how many tokens of a prompt a policy is told to be in the cache.
func (g *rig) cachedOf(prompt []gpu.Token) (n int) {
	g.core.SetPolicies(answers{admit: func(r *abi.Row) abi.Verdict {
		n = int(r.CachedTokens)
		return abi.Verdict{Action: uint8(abi.ActionReject)}
	}}, 1)
	g.arrive(&sched.Request{ID: 1 << 40, MaxTokens: 1}, prompt)
	g.core.SetPolicies(nil, 2)
	return n
}

// Two sequences with one text are one too many as soon as one can be copied from the other.
func TestATextIsCachedOnce(t *testing.T) {
	g := newRig(t, kvConfig(3, 32, func(c *sched.Config) { c.CopyMin, c.SpareSeqs = 4, 3 }), nil)
	g.ask(1, tokens(1, 17), 1)
	for id := uint64(2); id < 5; id++ {
		g.arrive(&sched.Request{ID: id, MaxTokens: 1}, tokens(1, 17))
	}
	g.run()
	if n := g.core.BlocksCached(); n != 4 {
		t.Errorf("%d blocks are cached after four requests with one prompt of four blocks", n)
	}
}

// A copy may not give up what it copies from, even where that was wanted longest ago.
func TestWhatIsCopiedFromStaysUntilItWasCopied(t *testing.T) {
	g := newRig(t, kvConfig(2, 16, func(c *sched.Config) { c.CopyMin, c.SpareSeqs = 4, 3 }), nil)
	g.ask(1, tokens(1, 36), 1) // nine blocks
	g.ask(2, tokens(2, 24), 1) // six: one is free
	r := g.ask(3, shared(tokens(1, 36)[:8], tokens(3, 9)...), 1)
	if r.Cached != 8 || g.ops[sched.OpCopy] != 1 {
		t.Errorf("%d tokens were cached, %d copies", r.Cached, g.ops[sched.OpCopy])
	}
}

func TestAFailedStepLeavesNothingInTheCache(t *testing.T) {
	g := newRig(t, kvConfig(2, 32, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 4, true }), nil)
	g.ask(1, tokens(1, 8), 1)
	g.row = func() bool { return true }
	if r := g.ask(2, tokens(1, 24), 4); r.Outcome != sched.OutcomeFailed || r.Cached != 8 {
		t.Fatalf("ended as %v with %d cached", r.Outcome, r.Cached)
	}
	g.row = nil
	if n := g.core.BlocksCached(); n != 0 { // it had taken over the first one's
		t.Errorf("%d blocks are cached", n)
	}
	if r := g.ask(3, tokens(1, 24), 1); r.Cached != 0 {
		t.Errorf("%d tokens of a failed step were cached", r.Cached)
	}
}

// A request whose KV turns out to be wrong is computed again, and neither it nor what it was copied from is cached.
func TestKVThatTurnsOutToBeWrongIsGivenUp(t *testing.T) {
	cfg := kvConfig(2, 32, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 4, true })
	cfg.MaxSaved, cfg.Costs = 1000, gpu.Costs{PrefillToken: 10, SaveToken: 1}
	g := newRig(t, cfg, nil)
	g.ask(1, tokens(1, 24), 1)
	r := &sched.Request{ID: 2, MaxTokens: 2}
	g.arrive(r, shared(tokens(1, 24)[:16], 'x', 'y', 'z'))
	if b := g.core.Plan(g.now); b.Ops[len(b.Ops)-1].Kind != sched.OpCopy {
		t.Fatalf("operations %+v, want a copy", b.Ops)
	}
	g.core.Complete(g.now, []sched.Result{{Lost: true}})
	g.check()
	if n := g.core.BlocksCached(); n != 0 {
		t.Errorf("%d blocks are cached", n)
	}
	g.run()
	if r.Outcome != sched.OutcomeLength || r.Preemptions != 1 || g.core.Stats().Saves != 0 || g.core.BlocksCached() != 0 {
		t.Errorf("ended as %v after %d preemptions, %d blocks are cached", r.Outcome, r.Preemptions, g.core.BlocksCached())
	}
}

func TestUnderPressureNothingIsCachedOrSaved(t *testing.T) {
	g := newRig(t, kvConfig(2, 32, nil), nil)
	g.ask(1, tokens(1, 16), 1)
	g.core.SetPressure(sched.Pressure{NoCache: true})
	g.check()
	if n := g.core.BlocksCached(); n != 0 {
		t.Errorf("%d blocks are cached", n)
	}
	if r := g.ask(2, tokens(1, 16), 1); r.Cached != 0 || g.core.BlocksCached() != 0 {
		t.Errorf("%d tokens were cached, and %d blocks are", r.Cached, g.core.BlocksCached())
	}
	g.core.SetPressure(sched.Pressure{})
	g.ask(3, tokens(1, 16), 1)
	if n := g.core.BlocksCached(); n != 4 {
		t.Errorf("%d blocks are cached again, want 4", n)
	}
}

// A device that was opened anew holds nothing: what ran is computed again, and nobody is blamed for it.
func TestAnEmptyDeviceIsFilledAgain(t *testing.T) {
	g := newRig(t, kvConfig(2, 32, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 4, true }), nil)
	g.ask(1, tokens(1, 16), 4)
	r := &sched.Request{ID: 2, MaxTokens: 8}
	g.arrive(r, shared(tokens(1, 16), 'x'))
	g.step()
	g.step()
	g.reopen()
	g.core.DropKV(g.now)
	g.check()
	if used, cached := g.core.BlocksUsed(), g.core.BlocksCached(); used != 0 || cached != 0 {
		t.Errorf("%d blocks used, %d cached", used, cached)
	}
	g.run()
	if want := alone(t, shared(tokens(1, 16), 'x'), 8); !slices.Equal(g.outputs[2], want) {
		t.Errorf("answered %v, want %v", g.outputs[2], want)
	}
	if r.Preemptions != 0 || r.TokensLost != 18 || r.Cached != 16 {
		t.Errorf("%d preemptions, %d tokens lost, %d cached; want 0, 18 and 16", r.Preemptions, r.TokensLost, r.Cached)
	}
}
