package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

func TestARowHoldsTheLargestValueWhereTheClientsIsBeyondIt(t *testing.T) {
	var seen abi.Row
	d := drive(t, sched.DefaultConfig(2, 16, 64, 64), answers{admit: func(r *abi.Row) abi.Verdict { seen = *r; return abi.Verdict{} }})
	d.arrive(&sched.Request{ID: 1, PromptTokens: 4, MaxTokens: 1 << 32, Attempt: -1})
	if seen.MaxTokens != 1<<32-1 || seen.Attempt != 0 {
		t.Errorf("max_tokens %d, attempt %d", seen.MaxTokens, seen.Attempt)
	}
}

// What policies see of the cache: blocks that it holds are free ones, and a waiting row says what it would find.
func TestPoliciesSeeWhatTheCacheHoldsForThem(t *testing.T) {
	g := newRig(t, kvConfig(1, 16, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 2, true }), nil)
	g.ask(1, tokens(1, 16), 1)
	var seen abi.Row
	g.core.SetPolicies(answers{admit: func(r *abi.Row) abi.Verdict { seen = *r; return abi.Verdict{} },
		rank: func(r *abi.Row) abi.Ranking { seen = *r; return abi.Ranking{} }}, 1)
	g.arrive(&sched.Request{ID: 2, MaxTokens: 8}, shared(tokens(1, 16), 'x', 'y'))
	if seen.CachedTokens != 16 || seen.KVHeld != 0 || seen.KVNeedNext != 1 || seen.KVNeedPeak != 7 {
		t.Errorf("on arrival: %d cached, %d held, %d needed next, %d at most; want 16, 0, 1, 7", seen.CachedTokens, seen.KVHeld, seen.KVNeedNext, seen.KVNeedPeak)
	}
	st := g.core.State(g.now)
	if st.WaitingTokens != 2 || st.BlocksFree != 16 || st.BlocksCached != 4 || !st.Has(abi.StateHasPrefixHitPPM) || st.PrefixHitPPM != 0 {
		t.Errorf("%d tokens wait, %d blocks free, %d cached, hits %d ppm", st.WaitingTokens, st.BlocksFree, st.BlocksCached, st.PrefixHitPPM)
	}
	g.step()
	g.arrive(&sched.Request{ID: 3, MaxTokens: 8}, tokens(9, 40)) // a ranking wants a queue
	g.core.State(g.now)
	st = g.core.State(g.now)
	if st.WaitingTokens != 40 || st.BlocksFree != 11 || st.BlocksCached != 0 || st.PrefixHitPPM != 16*1_000_000/(16+18) {
		t.Errorf("%d tokens wait, %d blocks free, %d cached, hits %d ppm", st.WaitingTokens, st.BlocksFree, st.BlocksCached, st.PrefixHitPPM)
	}
	g.core.Cancel(g.now, 3, sched.OutcomeCancelledRunning)
	if st := g.core.State(g.now); st.WaitingTokens != 0 {
		t.Errorf("%d tokens wait in an empty queue", st.WaitingTokens)
	}
	g.run()
	if got := g.ended[2]; got.Cached != 16 {
		t.Errorf("%d tokens were found", got.Cached)
	}
}
