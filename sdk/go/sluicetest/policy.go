// Package sluicetest asks a policy natively what the host would ask it in the sandbox, for `go test`.
//
// It is no scheduler: it shows a policy the states that the test writes. What a policy does to a whole day of traffic, the
// replay tells.
//
//	p := sluicetest.New(t, &policy{}, "max_wait", "2s")
//	v := p.Admit(&sluice.State{}, sluice.Row{Phase: uint8(sluice.PhaseQueued), WaitNS: 3 * sluice.Second})
//	if v[0].Action != uint8(sluice.ActionReject) {
//		t.Error("it waits on")
//	}
package sluicetest

import (
	"testing"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// Policy asks one configured policy. The goroutine of the test calls it.
type Policy struct {
	t testing.TB
	p any
}

// New configures p with the given keys and values, alternating, as the host does at load, and fails the test if p refuses
// them.
func New(t testing.TB, p any, keysAndValues ...string) *Policy {
	t.Helper()
	if err := Configure(p, pairs(t, keysAndValues)); err != nil {
		t.Fatalf("the policy refuses its configuration: %v", err)
	}
	return &Policy{t, p}
}

// Configure configures p, and returns what the host would show to whoever pushed the policy: nil when it is taken.
func Configure(p any, settings map[string]string) error {
	c := sluice.NewConfig(settings)
	if p, ok := p.(sluice.Configurer); ok {
		return c.Apply(p)
	}
	return c.Err()
}

func pairs(t testing.TB, list []string) map[string]string {
	t.Helper()
	if len(list)%2 != 0 {
		t.Fatalf("keys and values must alternate: %q", list)
	}
	m := map[string]string{}
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// Admit returns a verdict for each row.
func (p *Policy) Admit(st *sluice.State, rows ...sluice.Row) []sluice.Verdict {
	out := make([]sluice.Verdict, len(rows))
	for i := range out {
		out[i] = sluice.Abstain()
	}
	need[sluice.Admitter](p).Admit(st, rows, out)
	return out
}

// Prioritize returns a ranking for each row, and whether the policy decided.
func (p *Policy) Prioritize(st *sluice.State, rows ...sluice.Row) ([]sluice.Ranking, bool) {
	out := make([]sluice.Ranking, len(rows))
	ok := need[sluice.Prioritizer](p).Prioritize(st, rows, out)
	return out, ok
}

// BatchCap returns the plan, and whether the policy decided.
func (p *Policy) BatchCap(st *sluice.State) (sluice.BatchPlan, bool) {
	var out sluice.BatchPlan
	ok := need[sluice.BatchCapper](p).BatchCap(st, &out)
	return out, ok
}

// Speculate returns the plan, the rows' k, and whether the policy decided.
func (p *Policy) Speculate(st *sluice.State, rows ...sluice.Row) (sluice.SpecPlan, []int32, bool) {
	var out sluice.SpecPlan
	k := make([]int32, len(rows))
	for i := range k {
		k[i] = -1
	}
	ok := need[sluice.Speculator](p).Speculate(st, rows, &out, k)
	return out, k, ok
}

// Events tells the policy what happened.
func (p *Policy) Events(st *sluice.State, events ...sluice.Event) {
	need[sluice.EventSink](p).Events(st, events)
}

// Save returns what the policy would hand to its next version.
func (p *Policy) Save() []byte {
	return need[sluice.StateSaver](p).Save(make([]byte, 0, sluice.SaveRoom))
}

// Restore hands saved state to the policy.
func (p *Policy) Restore(saved []byte) error { return need[sluice.StateSaver](p).Restore(saved) }

func need[H any](p *Policy) H {
	h, ok := p.p.(H)
	if !ok {
		p.t.Helper()
		p.t.Fatalf("%T does not implement %T", p.p, (*H)(nil))
	}
	return h
}
