package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

// drawn is a policy set whose every answer is drawn: nothing it says may break an invariant.
type drawn struct {
	t     *rapid.T
	hooks abi.Hook
}

func (d drawn) Hooks() abi.Hook { return d.hooks }

// Reads implements abi.Decider.
func (d drawn) Reads() abi.Group { return abi.All }

func (d drawn) Admit(_ *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	for i := range rows {
		out[i] = abi.Verdict{
			Action: uint8(rapid.IntRange(0, 3).Draw(d.t, "action")), Status: uint16(rapid.SampledFrom([]int{0, 429, 503, 529, 7}).Draw(d.t, "status")),
			ClassOverride: int8(rapid.IntRange(-1, 17).Draw(d.t, "class")), SpeculationCap: int32(rapid.IntRange(-1, 3).Draw(d.t, "spec cap")),
			MaxTokensCap: uint32(rapid.IntRange(0, 9).Draw(d.t, "cap")), QueueTTLMs: uint32(rapid.IntRange(0, 50).Draw(d.t, "ttl")),
			HasPriority: uint8(rapid.IntRange(0, 1).Draw(d.t, "has")), PriorityOverride: int32(rapid.IntRange(-2, 2).Draw(d.t, "priority")),
		}
		by[i] = 1
	}
}

func (d drawn) Prioritize(_ *abi.State, rows []abi.Row, out []abi.Ranking) (bool, abi.PolicyID) {
	for i := range rows {
		out[i] = abi.Ranking{Score: rapid.Int64Range(-3, 3).Draw(d.t, "score"), VictimRank: rapid.Int64Range(-1, 1).Draw(d.t, "victim"),
			Flags: uint32(rapid.IntRange(0, 7).Draw(d.t, "flags"))}
	}
	return rapid.Bool().Draw(d.t, "decided"), 1
}

func (d drawn) BatchPlan(_ *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	n := func() uint32 {
		return rapid.SampledFrom([]uint32{0, 1, 2, 5, 40, 1 << 31, 1<<32 - 1}).Draw(d.t, "limit")
	}
	*out = abi.BatchPlan{MaxSeqs: n(), MaxBatchedTokens: n(), PrefillBudgetTokens: n(), ChunkTokens: n(), KVAdmitCeilingPPM: n(), ReserveSeqs: n(), HoldSteps: n() % 4}
	out.ClassMaxSeqs[0], out.ClassMaxSeqs[1] = n(), n()
	return rapid.Bool().Draw(d.t, "decided"), 1
}

func (d drawn) Speculate(_ *abi.State, rows []abi.Row, out *abi.SpecPlan, k []int32) (bool, abi.PolicyID) {
	*out = abi.SpecPlan{K: rapid.Uint32Range(0, 20).Draw(d.t, "k"), VerifySlots: rapid.Uint32Range(0, 9).Draw(d.t, "slots"), HoldSteps: rapid.Uint32Range(0, 2).Draw(d.t, "hold")}
	for i := range k {
		k[i] = rapid.Int32Range(-5, 20).Draw(d.t, "row k")
	}
	return true, 1
}

func (d drawn) Events(*abi.State, []abi.Event) {}

// traffic drives a Core with drawn arrivals, cancels, clocks and device results.
type traffic struct {
	t      *rapid.T
	core   *sched.Core
	now    int64
	next   uint64
	live   map[uint64]bool
	order  []uint64
	ended  int
	flying *sched.Batch
	native bool
}

func newTraffic(t *rapid.T, policy abi.Decider) *traffic {
	cfg := sched.DefaultConfig(rapid.IntRange(1, 5).Draw(t, "seats"), 0, 64, rapid.IntRange(64, 200).Draw(t, "kv"))
	cfg.BlockSize = rapid.IntRange(1, 16).Draw(t, "block")
	cfg.Blocks = max(1, rapid.IntRange(40, 160).Draw(t, "kv tokens")/cfg.BlockSize)
	cfg.MaxBatchTokens = cfg.MaxSeqs + rapid.IntRange(0, 40).Draw(t, "batch")
	cfg.ChunkTokens, cfg.MaxDraft, cfg.MaxWaiting = rapid.IntRange(1, 20).Draw(t, "chunk"), rapid.IntRange(0, 15).Draw(t, "drafts"), 12
	core, err := sched.New(cfg, policy)
	if err != nil {
		t.Fatal(err)
	}
	return &traffic{native: policy == nil, t: t, core: core, now: 1, live: map[uint64]bool{}}
}

func (x *traffic) arrive() {
	n := rapid.IntRange(1, 4).Draw(x.t, "burst")
	reqs := make([]*sched.Request, n)
	for i := range reqs {
		x.next++
		reqs[i] = &sched.Request{ID: x.next, Arrival: x.now, PromptTokens: rapid.IntRange(1, 70).Draw(x.t, "prompt"),
			MaxTokens: rapid.IntRange(1, 30).Draw(x.t, "max"), Class: uint8(rapid.IntRange(0, 2).Draw(x.t, "class")),
			Priority: int32(rapid.IntRange(-1, 1).Draw(x.t, "priority")), Tenant: uint64(rapid.IntRange(0, 2).Draw(x.t, "tenant")),
			TTL: rapid.SampledFrom([]int64{0, 0, 5e6}).Draw(x.t, "ttl")}
		x.live[x.next] = true
		x.order = append(x.order, x.next)
	}
	x.core.Arrive(x.now, reqs...)
}

func (x *traffic) cancel() {
	if len(x.order) > 0 {
		id := rapid.SampledFrom(x.order).Draw(x.t, "victim")
		x.core.Cancel(x.now, id, rapid.SampledFrom([]sched.Outcome{sched.OutcomeCancelledRunning, sched.OutcomeDrained}).Draw(x.t, "as"))
	}
}

func (x *traffic) plan() {
	if x.flying != nil {
		return
	}
	x.flying = x.core.Plan(x.now)
	if x.flying == nil {
		if x.native && !x.core.Idle() {
			x.t.Fatalf("nothing runs though %d wait and %d could go on (I4)", x.core.Waiting(), x.core.Running())
		}
		return
	}
	cfg, seen, tokens := x.core.Config(), map[int]bool{}, 0
	for _, r := range x.flying.Rows {
		if seen[r.Seq] || r.Seq < 0 || r.Seq >= cfg.MaxSeqs || r.Tokens < 1 || r.Draft < 0 || r.Draft > cfg.MaxDraft || r.Draft > 0 && !r.Sample {
			x.t.Fatalf("malformed row %+v", r)
		}
		seen[r.Seq] = true
		tokens += r.Tokens + r.Draft
	}
	if tokens > cfg.MaxBatchTokens {
		x.t.Fatalf("a step of %d tokens, the limit is %d", tokens, cfg.MaxBatchTokens)
	}
}

func (x *traffic) complete() {
	if x.flying == nil {
		return
	}
	res := make([]sched.Result, len(x.flying.Rows))
	for i, r := range x.flying.Rows {
		if r.Sample {
			res[i].Drafted = rapid.IntRange(0, r.Draft).Draw(x.t, "drafted")
			res[i].Emitted = rapid.IntRange(1, res[i].Drafted+1).Draw(x.t, "emitted")
			res[i].Available, res[i].HitLength = rapid.IntRange(0, 20).Draw(x.t, "available"), rapid.IntRange(0, 4).Draw(x.t, "hit")
			res[i].Done = rapid.SampledFrom([]sched.Outcome{0, 0, 0, 0, sched.OutcomeCompleted, sched.OutcomeFailed}).Draw(x.t, "done")
		}
	}
	x.flying = nil
	x.core.Complete(x.now, res)
}

func (x *traffic) check() {
	if err := x.core.Check(); err != nil {
		x.t.Fatal(err)
	}
	for _, r := range x.core.TakeEnded() {
		if !x.live[r.ID] {
			x.t.Fatalf("request %d ended twice or never arrived", r.ID)
		}
		if r.Generated > r.MaxTokens {
			x.t.Fatalf("request %d emitted %d of %d tokens", r.ID, r.Generated, r.MaxTokens)
		}
		delete(x.live, r.ID)
		x.ended++
	}
}

// settle runs without further arrivals until nothing is left: whatever the policies say, everything must end (I5).
func (x *traffic) settle() {
	for i := 0; !x.core.Idle(); i++ {
		if i > 20_000 {
			x.t.Fatalf("no end after %d steps: %d wait, %d run", i, x.core.Waiting(), x.core.Running())
		}
		x.now += 30e6
		x.core.Tick(x.now)
		if x.flying = x.core.Plan(x.now); x.flying != nil {
			res := make([]sched.Result, len(x.flying.Rows))
			for i, r := range x.flying.Rows {
				if r.Sample {
					res[i].Emitted = 1
				}
			}
			x.flying = nil
			x.core.Complete(x.now, res)
		}
		x.check()
	}
	if len(x.live) != 0 {
		x.t.Fatalf("%d requests never ended", len(x.live))
	}
}

func runTraffic(t *rapid.T, policy abi.Decider) {
	x := newTraffic(t, policy)
	steps := rapid.IntRange(10, 120).Draw(t, "steps")
	for range steps {
		x.now += rapid.Int64Range(0, 3e7).Draw(t, "dt")
		switch rapid.IntRange(0, 7).Draw(t, "do") {
		case 0, 1:
			x.arrive()
		case 2:
			x.cancel()
		case 3:
			x.core.Tick(x.now)
		case 4, 5:
			x.plan()
		default:
			x.complete()
		}
		x.check()
	}
	x.complete()
	x.check()
	x.settle()
}

func TestInvariantsHoldUnderRandomTrafficWithNativeDefaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { runTraffic(t, nil) })
}

func TestInvariantsHoldUnderRandomTrafficWithHostilePolicies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runTraffic(t, drawn{t, abi.Hook(rapid.Uint32Range(0, 63).Draw(t, "hooks"))})
	})
}
