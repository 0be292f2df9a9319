package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// A request is preempted for a newcomer only when the newcomer then runs: the batch plan may forbid that too.
func TestNobodyIsPreemptedForANewcomerThatMayNotEnter(t *testing.T) {
	better := func(r *abi.Row) abi.Ranking {
		return abi.Ranking{Score: -int64(r.ID), Flags: uint32(abi.RankFlagMayPreempt)}
	}
	for name, c := range map[string]struct {
		plan   abi.BatchPlan
		change func(*sched.Config)
		prompt int // of the third that runs; 0 = 1
	}{
		"places are kept for another class": {plan: abi.BatchPlan{ReserveSeqs: 1}},
		"its class is full":                 {plan: classMax(1, 1)},
		"the KV ceiling is reached":         {plan: abi.BatchPlan{KVAdmitCeilingPPM: 1}},
		"prefills take all prompt tokens":   {plan: abi.BatchPlan{PrefillBudgetTokens: 1, ChunkTokens: 1}, prompt: 30},
		"the others grow into the KV":       {prompt: 3, change: func(c *sched.Config) { c.Blocks = 4 }},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sched.DefaultConfig(3, 16, 64, 64)
			cfg.BlockSize, cfg.Blocks = 4, 16
			if c.change != nil {
				c.change(&cfg)
			}
			d := drive(t, cfg, answers{rank: better, batch: func(st *abi.State) abi.BatchPlan {
				if st.WaitingRequests == 1 && st.Running == 3 {
					return c.plan
				}
				return abi.BatchPlan{}
			}})
			d.arrive(&sched.Request{ID: 1, PromptTokens: 1, MaxTokens: 9}, &sched.Request{ID: 2, PromptTokens: 1, MaxTokens: 9},
				&sched.Request{ID: 3, Class: 1, PromptTokens: max(c.prompt, 1), MaxTokens: 9})
			if d.steps(2); d.Running() != 3 {
				t.Fatalf("%d run", d.Running())
			}
			d.arrive(&sched.Request{ID: 9, Class: 1, PromptTokens: 4, MaxTokens: 9})
			for range 5 {
				before := d.Stats().Preemptions
				rows := d.steps(1)
				if _, ran := rows[9]; d.Stats().Preemptions > before && !ran {
					t.Fatalf("a request was preempted and the newcomer did not run: %+v", rows)
				} else if ran {
					return
				}
			}
		})
	}
}

func classMax(class, n int) (p abi.BatchPlan) {
	p.ClassMaxSeqs[class] = uint32(n)
	return p
}

// Of those that must make room for another one's growth, a pinned request is the last.
func TestAPinnedRequestMakesRoomLast(t *testing.T) {
	cfg := sched.DefaultConfig(3, 16, 64, 64)
	cfg.BlockSize, cfg.Blocks = 4, 3
	flags := map[uint64]abi.RankFlag{2: abi.RankFlagProtected, 3: abi.RankFlagPinned}
	d := drive(t, cfg, answers{rank: func(r *abi.Row) abi.Ranking {
		return abi.Ranking{Score: int64(r.ID), Flags: uint32(flags[r.ID])}
	}})
	var reqs []*sched.Request
	for id := range uint64(4) {
		if id > 0 {
			reqs = append(reqs, &sched.Request{ID: id, PromptTokens: 3, MaxTokens: 9})
		}
	}
	d.arrive(reqs...)
	d.steps(1)
	d.arrive(&sched.Request{ID: 10, PromptTokens: 1, MaxTokens: 1}) // only with a queue is there a ranking
	for range 9 {
		if d.steps(1); d.Stats().Preemptions > 0 {
			break
		}
	}
	if reqs[1].Preemptions != 1 || reqs[2].Preemptions != 0 {
		t.Errorf("preempted: protected %d times, pinned %d times; want the protected one first", reqs[1].Preemptions, reqs[2].Preemptions)
	}
}
