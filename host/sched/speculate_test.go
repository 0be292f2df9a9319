package sched_test

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// speculator records what it was asked, and answers k for the plan and ks by row.
type speculator struct {
	answers
	k      uint32
	ks     []int32
	states []abi.State
	rows   [][]abi.Row
}

func (*speculator) Hooks() abi.Hook { return abi.HookSpeculate }

func (s *speculator) Speculate(st *abi.State, rows []abi.Row, out *abi.SpecPlan, k []int32) (bool, abi.PolicyID) {
	s.states, s.rows = append(s.states, *st), append(s.rows, slices.Clone(rows))
	out.K = s.k
	copy(k, s.ks)
	return true, 1
}

// drafting drives a Core whose rows have offers drafts, of which accepts are right.
type drafting struct {
	*driver
	offers, accepts int
	rows            map[uint64]sched.Row
}

func draft(t *testing.T, cfg sched.Config, p abi.Decider, n int) *drafting {
	cfg.MaxDraft = 7
	d := &drafting{driver: drive(t, cfg, p), offers: 7, rows: map[uint64]sched.Row{}}
	for i := range n {
		d.arrive(&sched.Request{ID: uint64(i + 1), PromptTokens: 4, MaxTokens: 50})
	}
	return d
}

// step runs one step of ns and returns the most drafts of a row.
func (d *drafting) step(ns int64) (k int) {
	d.t.Helper()
	clear(d.rows)
	b := d.Plan(d.now)
	res := make([]sched.Result, len(b.Rows))
	for i, r := range b.Rows {
		d.rows[r.Req.ID] = r
		k = max(k, r.Draft)
		res[i] = sched.Result{Drafted: r.Draft, Emitted: 1 + min(r.Draft, d.accepts), Available: d.offers, HitLength: min(d.offers, 3)}
	}
	d.now += ns
	d.Complete(d.now, res)
	if err := d.Check(); err != nil {
		d.t.Fatal(err)
	}
	return k
}

func seats(n int) sched.Config { return sched.DefaultConfig(n, 64, 64, 640) }

// A policy's k is obeyed where there is something to draft. What cannot be obeyed is counted.
func TestAPolicysKIsObeyedOrCounted(t *testing.T) {
	p := &speculator{k: 3, ks: []int32{-1, 5}}
	d := draft(t, seats(2), p, 2)
	d.step(1e6)
	d.step(1e6)
	if d.rows[1].Draft != 3 || d.rows[2].Draft != 5 || d.Stats().Clamped != 0 {
		t.Errorf("rows draft %d and %d, %d answers were clamped", d.rows[1].Draft, d.rows[2].Draft, d.Stats().Clamped)
	}
	p.k = 99
	d.step(1e6)
	if d.rows[1].Draft != 7 || d.Stats().Clamped != 1 {
		t.Errorf("a row drafts %d of 99, %d answers were clamped", d.rows[1].Draft, d.Stats().Clamped)
	}
	if st := d.State(d.now); st.KNow != 7 {
		t.Errorf("the state says that %d were drafted", st.KNow)
	}
}

// Where nothing is on offer nobody is asked, and a step is what it is without speculation.
func TestNobodyIsAskedWhereNothingIsOnOffer(t *testing.T) {
	p := &speculator{k: 3}
	d := draft(t, seats(2), p, 2)
	d.offers = 0
	for range 5 {
		if k := d.step(1e6); k != 0 {
			t.Fatalf("%d drafts of nothing", k)
		}
	}
	if len(p.states) != 0 || d.Stats().Drafts != 0 {
		t.Errorf("asked %d times, %d drafts", len(p.states), d.Stats().Drafts)
	}
}

// One decision holds for the whole step, also for a policy set that is swapped while it runs.
func TestOneSpeculationDecisionAStep(t *testing.T) {
	p := &speculator{k: 3}
	d := draft(t, seats(4), p, 4)
	d.step(1e6)
	for i := range 10 {
		b := d.Plan(d.now)
		if len(p.states) != i+1 {
			t.Fatalf("step %d: asked %d times", i, len(p.states))
		}
		d.SetPolicies(&speculator{k: 1}, uint32(i+1))
		res := make([]sched.Result, len(b.Rows))
		for j, r := range b.Rows {
			if r.Draft != 3 {
				t.Fatalf("step %d: a row drafts %d", i, r.Draft)
			}
			res[j] = sched.Result{Drafted: r.Draft, Emitted: 1, Available: 7}
		}
		d.now += 1e6
		d.Complete(d.now, res)
		d.SetPolicies(p, uint32(i+100))
	}
}

// Who opted out drafts nothing, whatever pays and whatever a policy says.
func TestWhoOptedOutDraftsNothing(t *testing.T) {
	for _, p := range []abi.Decider{nil, &speculator{k: 7}} {
		d := drive(t, func() sched.Config { c := seats(2); c.MaxDraft = 7; return c }(), p)
		d.arrive(&sched.Request{ID: 1, PromptTokens: 4, MaxTokens: 50, NoSpec: true}, &sched.Request{ID: 2, PromptTokens: 4, MaxTokens: 50})
		x := &drafting{driver: d, offers: 7, accepts: 7, rows: map[uint64]sched.Row{}}
		other := 0
		for range 6 {
			x.step(1e6)
			if x.rows[1].Draft > 0 {
				t.Fatalf("it drafts %d", x.rows[1].Draft)
			}
			other += x.rows[2].Draft
		}
		if other == 0 {
			t.Error("nobody drafts: this shows nothing")
		}
	}
}

// A policy sees what would pay, what steps take, and what each row has been matched by.
func TestPoliciesSeeWhatPays(t *testing.T) {
	cfg := seats(2)
	cfg.Costs = gpu.Costs{DraftToken: 1000}
	for k := range cfg.Costs.Step[1] {
		cfg.Costs.Step[1][k] = 10e6 + int64(k)*100e3 // drafts cost one hundredth of a step
	}
	p := &speculator{k: 1}
	d := draft(t, cfg, p, 2)
	d.step(10e6)
	d.step(10e6)
	st, row := &p.states[0], &p.rows[0][0]
	if !st.Has(abi.StateHasKGoodput) || st.KGoodput != 7 || row.Valid&abi.RowHasKGoodput == 0 || row.KGoodput != 7 {
		t.Errorf("k_goodput is %d and %d, not 7", st.KGoodput, row.KGoodput)
	}
	if row.Valid&abi.RowHasNgramHitLength == 0 || row.NgramHitLength != 3 || row.Valid&abi.RowHasAcceptPPM != 0 {
		t.Errorf("the n-gram has %d tokens, acceptance %d", row.NgramHitLength, row.AcceptPPM)
	}
	if !st.Has(abi.StateHasStepCostNS|abi.StateHasDraftNSPerToken) || st.StepCostNS[16+4] != 10_400_000 || st.StepCostNS[0] != 0 || st.DraftNSPerToken != 1000 {
		t.Errorf("step costs %v, drafting %d ns", st.StepCostNS[:32], st.DraftNSPerToken)
	}
	d.step(10e6)
	if row := &p.rows[1][0]; row.Valid&abi.RowHasAcceptPPM == 0 || row.AcceptPPM != 0 {
		t.Errorf("after a refused draft its acceptance is %d", row.AcceptPPM)
	}
}

// Without a policy a drafter that is right is used, and one that is wrong is tried now and then.
func TestTheNativeDefaultSpeculatesWhereItPays(t *testing.T) {
	for _, c := range []struct {
		accepts     int
		least, most uint64 // drafts in 40 steps
	}{{7, 150, 300}, {0, 1, 12}} {
		cfg := sched.DefaultConfig(1, 64, 4096, 8192)
		d := draft(t, cfg, nil, 0)
		d.arrive(&sched.Request{ID: 1, PromptTokens: 4, MaxTokens: 4000})
		d.accepts = c.accepts
		k := 0
		for range 40 {
			k = d.step(10e6 + int64(k)*2e6)
		}
		if n := d.Stats().Drafted; n < c.least || n > c.most {
			t.Errorf("with %d right, %d drafts in 40 steps", c.accepts, n)
		}
	}
}
