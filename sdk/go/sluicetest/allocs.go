package sluicetest

import (
	"testing"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// Allocs asks every deciding hook of the policy about st and rows, over and over, and returns how often it allocated memory
// in one round, in the mean. It must be 0: see the package comment of sluice.
func (p *Policy) Allocs(st *sluice.State, rows ...sluice.Row) float64 {
	verdicts := make([]sluice.Verdict, len(rows))
	rankings := make([]sluice.Ranking, len(rows))
	k := make([]int32, len(rows))
	events := make([]sluice.Event, len(rows))
	for i := range rows {
		events[i] = sluice.Event{ID: rows[i].ID, AtNS: st.NowNS, Kind: uint8(i % 5), Class: rows[i].Class}
	}
	batch, spec := &sluice.BatchPlan{}, &sluice.SpecPlan{}
	return testing.AllocsPerRun(100, func() {
		if h, ok := p.p.(sluice.Admitter); ok {
			h.Admit(st, rows, verdicts)
		}
		if h, ok := p.p.(sluice.Prioritizer); ok {
			h.Prioritize(st, rows, rankings)
		}
		if h, ok := p.p.(sluice.BatchCapper); ok {
			h.BatchCap(st, batch)
		}
		if h, ok := p.p.(sluice.Speculator); ok {
			h.Speculate(st, rows, spec, k)
		}
		if h, ok := p.p.(sluice.EventSink); ok {
			h.Events(st, events)
		}
	})
}
