package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

// lastForEver are policies under which class 1 would never run while there is class 0.
var lastForEver = map[string]abi.Decider{
	"ranked last": answers{rank: func(r *abi.Row) abi.Ranking { return abi.Ranking{Score: int64(r.Class)} }},
	"may be pushed out": answers{rank: func(r *abi.Row) abi.Ranking {
		return abi.Ranking{Score: int64(r.Class), Flags: uint32(abi.RankFlagMayPreempt)}
	}},
	"places are kept":    answers{batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{ReserveSeqs: 1 << 30} }},
	"ranked, one a time": answers{rank: func(r *abi.Row) abi.Ranking { return abi.Ranking{Score: int64(r.Class)} }, batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{MaxSeqs: 1} }},
}

// A steady stream of class 0 takes all the places there are. Each request of class 1 starts all the same: from the moment at which it
// has aged, after at most four entries for each of its class that came before it and one more round, each entry in at most the time of
// one request.
func TestEveryRequestOfAClassThatComesLastStartsWithinABound(t *testing.T) {
	for name, policy := range lastForEver {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				cfg := sched.DefaultConfig(rapid.IntRange(1, 4).Draw(rt, "seats"), 64, 64, 4096)
				cfg.MaxWaiting = 1 << 20
				for i := range cfg.AgeAfter {
					cfg.AgeAfter[i] = rapid.Int64Range(1, 20).Draw(rt, "age") * 100e6
				}
				tokens, worse := rapid.IntRange(1, 5).Draw(rt, "tokens"), rapid.IntRange(1, 10).Draw(rt, "worse")
				d := pace(t, cfg, policy, 10e6, 1)
				id := uint64(0)
				next := func() uint64 { id++; return id }
				// As many arrive as can run at all, and more: the queue of class 0 never empties, and none of it has aged.
				const span = 10_000e6
				for at := int64(1e6); at < span; at += 9e6 * int64(tokens) / int64(cfg.MaxSeqs) {
					d.add(at, &sched.Request{ID: next(), PromptTokens: 4, MaxTokens: tokens, TTL: 90e6})
				}
				var low []*sched.Request
				for i := range worse {
					low = append(low, d.add(2e6+int64(i), &sched.Request{ID: next(), PromptTokens: 4, MaxTokens: tokens, Class: 1}))
				}
				d.run(span)
				for i, r := range low {
					bound := r.Arrival + cfg.AgeAfter[1] + int64(4*(i+2)*tokens)*11e6
					if bound < span && (r.Scheduled == 0 || r.Scheduled > bound) {
						rt.Fatalf("number %d of class 1 started at %d ms, the bound is %d ms", i, r.Scheduled/1e6, bound/1e6)
					}
				}
			})
		})
	}
}

// Ageing costs the better class little: what it gives away is one place in four, and only to those that have waited for long.
func TestAHighClassDoesNotFeelThirtyLowOnes(t *testing.T) {
	ttft := func(low int) int64 {
		cfg := sched.DefaultConfig(4, 256, 2048, 1<<16)
		d := pace(t, cfg, policies["class-preempts"], 10e6, 50e3)
		var high []*sched.Request
		for i := range low {
			d.add(d.now+int64(i), &sched.Request{ID: uint64(1000 + i), PromptTokens: 64, MaxTokens: 200, Class: 1})
		}
		for i := range 300 {
			high = append(high, d.add(50e6+int64(i)*100e6, &sched.Request{ID: uint64(i + 1), PromptTokens: 32, MaxTokens: 10}))
		}
		d.run(1 << 60)
		var all []int64
		for _, r := range high {
			if r.Outcome != sched.OutcomeLength {
				t.Fatalf("request %d ended as %v", r.ID, r.Outcome)
			}
			all = append(all, r.FirstToken-r.Arrival)
		}
		return p99(all)
	}
	alone, among := ttft(0), ttft(30)
	if among > alone+25e6 { // two steps
		t.Errorf("p99 of the time to the first token is %d ms alone, and %d ms among 30 of a lower class", alone/1e6, among/1e6)
	}
}

// A policy hears who was put ahead of its order, and who was not.
func TestAPolicyHearsWhoWasPutAheadOfItsOrder(t *testing.T) {
	cfg := sched.DefaultConfig(1, 16, 64, 64)
	for i := range cfg.AgeAfter {
		cfg.AgeAfter[i] = 50e6
	}
	l := &listener{answers: lastForEver["ranked last"].(answers)}
	l.hooks = abi.HookEvents | abi.HookPrioritize
	d := drive(t, cfg, l)
	d.arrive(&sched.Request{ID: 1, Class: 1, PromptTokens: 4, MaxTokens: 1})
	for id := range uint64(9) {
		d.arrive(&sched.Request{ID: 10 + id, PromptTokens: 4, MaxTokens: 1})
	}
	d.steps(10)
	ahead := map[uint64]int64{}
	for _, e := range l.heard {
		if e.Kind == uint8(abi.EventKindScheduled) {
			ahead[e.ID] = e.Value
		}
	}
	if len(ahead) < 9 || ahead[1] != 1 || ahead[10] != 0 || d.Stats().Aged != 1 {
		t.Errorf("heard %v, %d were put ahead", ahead, d.Stats().Aged)
	}
}
