package replay

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

const ms = int64(1e6)

// fixed is a device on which every step takes the same time.
type fixed int64

func (f fixed) StepNS(parts []sim.Part) int64 {
	if len(parts) == 0 {
		return 0
	}
	return int64(f)
}

// device is small, and takes ns for every step.
func device(ns int64) sim.Profile {
	return sim.Profile{
		Cost: fixed(ns), Name: "fixed", ContextTokens: 4096, KVTokens: 16384, MaxSeqs: 8, MaxBatchTokens: 4096,
	}
}

// request is an imported record: it arrives at, and its answer has output tokens.
func request(at int64, prompt, output int) trace.Record {
	return trace.Record{
		V: trace.Version, ID: fmt.Sprint(at), Imported: "test", Arrival: at, Class: trace.DefaultClass,
		PromptTokens: prompt, OutputTokens: output, Outcome: "length",
	}
}

// ended runs in and returns the record of each request, in the order of their ends, all of them valid.
func ended(t testing.TB, in Input) ([]trace.Record, *Result) {
	t.Helper()
	var out []trace.Record
	in.OnEnd = func(r *trace.Record) {
		if err := r.Validate(); err != nil {
			t.Errorf("%v\n%+v", err, r)
		}
		out = append(out, *r)
	}
	res, err := Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out, res
}

// policy is a set of one native policy with the hooks that are set.
type policy struct {
	admit     func(st *abi.State, row *abi.Row, out *abi.Verdict)
	rank      func(st *abi.State, row *abi.Row) int64
	plan      func(st *abi.State, out *abi.BatchPlan)
	speculate func(st *abi.State, out *abi.SpecPlan)
	saw       func(rows []abi.Row)
}

func (p *policy) Reads() abi.Group { return abi.All }

func (p *policy) Hooks() (h abi.Hook) {
	if p.admit != nil {
		h |= abi.HookAdmit
	}
	if p.rank != nil {
		h |= abi.HookPrioritize
	}
	if p.plan != nil {
		h |= abi.HookBatchCap
	}
	if p.speculate != nil {
		h |= abi.HookSpeculate
	}
	return h
}

func (p *policy) see(rows []abi.Row) {
	if p.saw != nil {
		p.saw(rows)
	}
}

func (p *policy) Admit(st *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	p.see(rows)
	for i := range rows {
		out[i] = abi.Verdict{ClassOverride: -1, SpeculationCap: -1}
		p.admit(st, &rows[i], &out[i])
		by[i] = 1
	}
}

func (p *policy) Prioritize(st *abi.State, rows []abi.Row, out []abi.Ranking) (bool, abi.PolicyID) {
	p.see(rows)
	for i := range rows {
		out[i] = abi.Ranking{Score: p.rank(st, &rows[i])}
	}
	return true, 1
}

func (p *policy) BatchPlan(st *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	p.plan(st, out)
	return true, 1
}

func (p *policy) Speculate(st *abi.State, rows []abi.Row, out *abi.SpecPlan, _ []int32) (bool, abi.PolicyID) {
	p.see(rows)
	p.speculate(st, out)
	return true, 1
}

func (p *policy) Events(*abi.State, []abi.Event) {}

var _ abi.Decider = (*policy)(nil)

// shedOlder rejects what waits in the queue for longer than limit.
func shedOlder(limit int64) *policy {
	return &policy{admit: func(_ *abi.State, row *abi.Row, out *abi.Verdict) {
		if abi.Phase(row.Phase) == abi.PhaseQueued && row.WaitNS > limit {
			out.Action, out.Status, out.Reason = uint8(abi.ActionReject), 503, uint16(abi.ReasonQueueAge)
		}
	}}
}
