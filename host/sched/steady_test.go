package sched_test

import (
	"hash/fnv"
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

// allOpinions is a policy set with an opinion at every hook.
var allOpinions = &answersWithEvents{answers{
	admit: func(*abi.Row) abi.Verdict { return abi.Verdict{Action: uint8(abi.ActionAdmit)} },
	rank: func(r *abi.Row) abi.Ranking {
		return abi.Ranking{Score: int64(r.Class), Flags: uint32(abi.RankFlagMayPreempt)}
	},
	batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{} },
	spec:  func(*abi.State) abi.SpecPlan { return abi.SpecPlan{K: 2} },
}}

type answersWithEvents struct{ answers }

func (a *answersWithEvents) Hooks() abi.Hook {
	return abi.HookAdmit | abi.HookPrioritize | abi.HookBatchCap | abi.HookSpeculate | abi.HookEvents
}

// Once its buffers have their size a step allocates nothing, with a thousand waiting, with policies and without, and neither when they wait
// for a place nor for KV blocks.
func TestAStepAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, c := range map[string]struct {
		policy abi.Decider
		seats  int
	}{"native": {nil, 64}, "with policies": {allOpinions, 64}, "native, short of KV": {nil, 128}, "with policies, short of KV": {allOpinions, 128}} {
		t.Run(name, func(t *testing.T) {
			cfg := sched.DefaultConfig(c.seats, 512, 1<<14, 1<<20)
			cfg.MaxDraft, cfg.MaxWaiting, cfg.MaxWaitingTokens = 4, 2000, 1<<30
			cfg.Blocks = 64 * 100
			d := drive(t, cfg, c.policy)
			for i := range 64 {
				d.arrive(&sched.Request{ID: uint64(i + 1), PromptTokens: 16, MaxTokens: 1 << 14})
			}
			for d.BlocksUsed() < cfg.Blocks-500 {
				d.steps(1)
			}
			for i := range 1000 { // each wants more than that
				d.arrive(&sched.Request{ID: uint64(i + 100), PromptTokens: 1 << 13, MaxTokens: 1 << 12, Class: 1})
			}
			d.steps(3)
			var res []sched.Result
			n := testing.AllocsPerRun(100, func() {
				d.now += 1e6
				b := d.Plan(d.now)
				res = res[:0]
				for range b.Rows {
					res = append(res, sched.Result{Emitted: 1})
				}
				d.Complete(d.now, res)
				d.Tick(d.now)
			})
			if n != 0 || d.Waiting() < 1000 || d.Stats().Preemptions > 0 {
				t.Errorf("%.2f allocations a step, %d wait, %d were preempted", n, d.Waiting(), d.Stats().Preemptions)
			}
		})
	}
}

// witness hashes all that a policy set is shown.
type witness struct {
	answersWithEvents
	sum func(b []byte)
}

func (w *witness) see(st *abi.State, rows []abi.Row) {
	w.sum(abi.Bytes(st))
	w.sum(abi.SliceBytes(rows))
}

func (w *witness) Admit(st *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	w.see(st, rows)
	w.answersWithEvents.Admit(st, rows, out, by)
}

func (w *witness) Prioritize(st *abi.State, rows []abi.Row, out []abi.Ranking) (bool, abi.PolicyID) {
	w.see(st, rows)
	return w.answersWithEvents.Prioritize(st, rows, out)
}

func (w *witness) BatchPlan(st *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	w.see(st, nil)
	return w.answersWithEvents.BatchPlan(st, out)
}

func (w *witness) Speculate(st *abi.State, rows []abi.Row, out *abi.SpecPlan, k []int32) (bool, abi.PolicyID) {
	w.see(st, rows)
	return w.answersWithEvents.Speculate(st, rows, out, k)
}

func (w *witness) Events(st *abi.State, events []abi.Event) {
	w.see(st, nil)
	w.sum(abi.SliceBytes(events))
}

// Two runs that differ in nothing but the answers' true lengths show policies the same, to the byte, until the first answer ends (I7).
func TestAPolicyCannotKnowHowLongAnAnswerWillBe(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "requests")
		shape := rapid.SliceOfN(rapid.IntRange(1, 30), 2*n, 2*n).Draw(rt, "prompts and moments")
		shortest := rapid.IntRange(1, 20).Draw(rt, "shortest")
		see := func(lengths []int) []uint64 {
			var seen []uint64
			h := fnv.New64a()
			w := &witness{*allOpinions, func(b []byte) { h.Write(b) }}
			cfg := sched.DefaultConfig(3, 32, 128, 256)
			cfg.MaxDraft = 3
			core, err := sched.New(cfg, w)
			if err != nil {
				rt.Fatal(err)
			}
			for step := range 400 {
				now := int64(step+1) * 5e6
				for i := range n {
					if shape[n+i] == step {
						core.Arrive(now, &sched.Request{ID: uint64(i + 1), Arrival: now, PromptTokens: shape[i], MaxTokens: 60, Class: uint8(i % 2)})
					}
				}
				core.Tick(now)
				b := core.Plan(now)
				if b == nil {
					continue
				}
				res := make([]sched.Result, len(b.Rows))
				for i := range b.Rows {
					if !b.Rows[i].Sample {
						continue
					}
					r := b.Rows[i].Req
					res[i].Emitted = 1
					if r.Generated+1 == lengths[r.ID-1] {
						return seen // the first end
					}
				}
				core.Complete(now, res)
				seen = append(seen, h.Sum64())
			}
			return seen
		}
		draw := func(what string) []int {
			return rapid.SliceOfN(rapid.IntRange(shortest, shortest+30), n, n).Draw(rt, what)
		}
		a, b := see(draw("lengths")), see(draw("other lengths"))
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				rt.Fatalf("policies were shown something else in step %d of %d and %d", i, len(a), len(b))
			}
		}
	})
}

// Retry-After follows the rate at which the queue drains, in whole seconds that clients can live with, and is the same for the same
// request and seed only.
func TestRetryAfterIsTheTimeTheQueueTakes(t *testing.T) {
	after := func(waiting int, seed, id uint64, between int64) int64 {
		cfg := sched.DefaultConfig(1, 16, 64, 64)
		cfg.MaxWaiting, cfg.Seed = waiting, seed
		d := drive(t, cfg, nil)
		for i := range 600 + waiting {
			d.arrive(&sched.Request{ID: uint64(i + 1), PromptTokens: 4, MaxTokens: 1})
			if i < 600 {
				d.now += between - 10e6
				d.steps(1)
				if i > 0 && d.Waiting() == 0 {
					d.arrive(&sched.Request{ID: uint64(10_000 + i), PromptTokens: 4, MaxTokens: 1})
				}
			}
		}
		last := &sched.Request{ID: id, PromptTokens: 4, MaxTokens: 1}
		d.arrive(last)
		if last.Verdict.Limit != "queue_requests" {
			t.Fatalf("%+v, %d wait", last.Verdict, d.Waiting())
		}
		return last.Verdict.RetryAfter
	}
	seen := map[int64]bool{}
	for id := uint64(100_000); id < 100_040; id++ {
		s := after(100, 1, id, 50e6) // 20 a second: 5 s
		if s%1e9 != 0 || s < 5e9 || s > 9e9 {
			t.Errorf("%d ns for a queue of 5 s", s)
		}
		seen[s] = true
	}
	if len(seen) < 3 {
		t.Errorf("all come back at once: %v", seen)
	}
	if a, b := after(100, 1, 100_007, 50e6), after(100, 1, 100_007, 50e6); a != b {
		t.Errorf("one request was told %d and %d", a, b)
	}
	if s := after(1000, 1, 100_000, 500e6); s < 20e9 || s > 30e9 {
		t.Errorf("%d ns for a queue of 500 s", s)
	}
	if s := after(1, 1, 100_000, 11e6); s < 1e9 || s > 2e9 {
		t.Errorf("%d ns for a queue of 11 ms", s)
	}
}
