// Everything is a policy with every hook, for the tests of the SDK. What it answers depends on all that it is shown, so that
// a misplaced byte changes an answer.
package main

import (
	"errors"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

type everything struct {
	limit  int64
	events uint32
}

func (e *everything) Configure(c *sluice.Config) error {
	e.limit = c.Duration("limit", sluice.Second, 0, sluice.Hour)
	if c.String("why", "") != "" {
		return errors.New("told to refuse")
	}
	return nil
}

func (e *everything) Admit(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	for i := range rows {
		switch r := &rows[i]; {
		case r.In(sluice.PhaseArrival):
		case r.WaitNS > e.limit:
			out[i] = sluice.Reject(429, sluice.ReasonQueueAge).RetryAfter(r.WaitNS)
		default:
			out[i] = sluice.Degrade().MaxTokens(r.MaxTokens / 2).Speculation(int32(st.KMax)).Class(3).Priority(r.Priority - 1)
		}
	}
}

func (e *everything) Prioritize(st *sluice.State, rows []sluice.Row, out []sluice.Ranking) bool {
	for i := range rows {
		out[i] = sluice.Ranking{Score: rows[i].ArrivalNS, VictimRank: int64(rows[i].TenantServedOut)}
		out[i].Allow(sluice.RankFlagProtected)
	}
	return st.Running > 0
}

func (e *everything) BatchCap(st *sluice.State, out *sluice.BatchPlan) bool {
	out.MaxSeqs = st.MaxNumSeqs
	out.ClassMaxSeqs[15] = st.Classes[15].Waiting
	out.MaxBatchedTokens = uint32(st.StepCostNS[127])
	return true
}

func (e *everything) Speculate(st *sluice.State, rows []sluice.Row, out *sluice.SpecPlan, k []int32) bool {
	out.K = min(st.KMax, sluice.MaxDraft)
	for i := range rows {
		if rows[i].SpeculationAllowed == 0 {
			k[i] = 0
		}
	}
	return true
}

func (e *everything) Events(_ *sluice.State, events []sluice.Event) {
	for i := range events {
		e.events += uint32(events[i].Value)
	}
	sluice.Metric(3, int64(e.events))
}

func (e *everything) Save(to []byte) []byte { return append(to, byte(e.events), byte(e.events>>8)) }

func (e *everything) Restore(from []byte) error {
	if len(from) != 2 {
		return errors.New("not two bytes")
	}
	e.events = uint32(from[0]) + uint32(from[1])<<8
	return nil
}

func init() { sluice.Register(&everything{}) }

func main() {}
