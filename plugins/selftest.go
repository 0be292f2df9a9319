package plugins

import (
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// golden is a state on which every policy must answer within its budget before it decides for anyone.
type golden struct {
	name string
	st   abi.State
	rows []abi.Row
}

// goldens are an idle server, a busy one, and one with all that a call can hold.
func goldens() []golden {
	idle := abi.State{
		Size: abi.StateSize, StepID: 1, NowNS: 1_000_000_000, RngSeed: 1, QueueLimit: 1024, MaxNumSeqs: 64,
		MaxBatchedTokens: 2048, BlockSize: 16, BlocksTotal: 4096, BlocksFree: 4096, KMax: abi.MaxDraft,
	}
	busy := idle
	busy.StepID, busy.NowNS, busy.RngSeed = 1000, 60_000_000_000, 0x5eed
	busy.WaitingRequests, busy.WaitingTokens, busy.OldestWaitNS = 24, 24*300, 4_000_000_000
	busy.Running, busy.Prefilling, busy.Decoding, busy.LastStepTokens = 8, 2, 6, 512
	busy.BlocksFree, busy.BlocksCached, busy.KNow = 600, 300, 3
	busy.Valid = ^uint64(0) >> (64 - 17)
	busy.StepNS, busy.DecodeStepP50NS, busy.DecodeStepP99NS, busy.MixedStepNS, busy.MinStepNS = 30e6, 25e6, 60e6, 90e6, 20e6
	busy.PrefillTokensPerS, busy.DecodeTokensPerS, busy.PrefixHitPPM = 9000, 300, 250_000
	busy.QueueDelayMinNS, busy.QueueDelayNS, busy.EstimatedWaitNS = 500e6, 2e9, 3e9
	busy.TTFTP95NS, busy.ITLP50NS, busy.ITLP95NS, busy.DraftNSPerToken = 4e9, 28e6, 70e6, 1000
	busy.Requests, busy.Accepts, busy.Drafted, busy.Accepted = 900, 880, 5000, 2500
	busy.ArrivalsMilliPerS, busy.CompletionsMilliPerS = 9000, 7500
	for c := range busy.Classes[:3] {
		busy.Classes[c] = abi.ClassStats{Waiting: 8, Running: 2, OldestWaitNS: 4_000_000_000, WaitingTokens: 2400, Admitted1s: 3, Shed1s: 1}
		busy.SLO[c] = abi.ClassSLO{TTFTNS: 2e9, TPOTNS: 50e6, MaxGapNS: 500e6, ShedBudgetPPM: 50_000}
	}
	full := busy
	full.StepID, full.WaitingRequests, full.QueueLimit = 2000, abi.MaxRows, abi.MaxRows
	full.BlocksFree, full.BlocksCached, full.NowNS = 0, 0, 600_000_000_000
	return []golden{
		{"an idle server", idle, goldenRows(&idle, 1)},
		{"a busy server", busy, goldenRows(&busy, 32)},
		{fmt.Sprintf("%d rows", abi.MaxRows), full, goldenRows(&full, abi.MaxRows)},
	}
}

// goldenRows makes n requests of every phase and class, some with and some without the optional fields.
func goldenRows(st *abi.State, n int) []abi.Row {
	rows := make([]abi.Row, n)
	for i := range rows {
		u := uint32(i)
		wait := int64(i) * 40e6
		r := abi.Row{
			ID: uint64(i + 1), ArrivalNS: st.NowNS - wait, EnqueueNS: st.NowNS - wait, AgeNS: wait, WaitNS: wait,
			Tenant: uint64(u%5) * 0x9e3779b97f4a7c15, Priority: int32(i%7) - 3, Class: uint8(i % abi.Classes), Phase: uint8(i % 4),
			Stream: uint8(i % 2), SpeculationAllowed: uint8(i % 3 % 2), PromptTokens: 1 + u*13%700, MaxTokens: 16 + u%256,
			KVNeedNext: 1, KVNeedPeak: 8 + u%32, TenantWeight: 1, Attempt: u % 2, Preemptions: u % 2,
		}
		if i%2 == 1 {
			r.Valid = ^uint64(0) >> (64 - 12)
			r.ExpectedOutputP50, r.ExpectedOutputP90, r.AcceptPPM, r.NgramHitLength = 64, 200, u*3900, u%6
			r.TTFTDeadlineNS, r.TPOTTargetNS, r.E2EDeadlineNS, r.ClientTTLNS = st.NowNS+1e9, 50e6, st.NowNS+60e9, 10e9
			r.FirstTokenNS, r.LastTokenNS, r.MaxGapNS, r.GeneratedTokens = st.NowNS-1e9, st.NowNS-30e6, 80e6, u
		}
		rows[i] = r
	}
	return rows
}

// selfTest asks every declared hook on every golden state and on the hook's recent calls, and carries the guest's state
// through save and restore.
func (g *guest) selfTest(real *samples) error {
	for _, s := range goldens() {
		for _, e := range []Entry{EntryAdmit, EntryPrioritize, EntryBatchCap, EntrySpeculate, EntryEvents} {
			if err := g.test(e, &s); err != nil {
				return err
			}
		}
		if err := g.readsOnly(&s); err != nil {
			return fmt.Errorf("on %s: %w", s.name, err)
		}
	}
	for _, e := range sampled {
		for _, s := range real.states(e) {
			if err := g.test(e, &s); err != nil {
				return err
			}
		}
	}
	if !g.lay.hooks.Has(abi.HookState) {
		return nil
	}
	saved, err := g.save(firstClock)
	if err == nil && len(saved) > 0 {
		_, err = g.restore(append([]byte(nil), saved...), firstClock)
	}
	return err
}

// test asks one hook, if it is declared, and reports what came of it.
func (g *guest) test(e Entry, s *golden) error {
	if !g.lay.hooks.Has(e.Hook()) {
		return nil
	}
	outcome, err := g.try(e, s)
	n := int(g.call.Arg)
	if e == EntryBatchCap {
		n = 0
	}
	g.v.report.Tests = append(g.v.report.Tests, Tested{
		Hook: e.hookName(), State: s.name, Rows: n, Fuel: g.call.Used, Budget: g.v.budget.fuel(e, n), Outcome: outcome,
	})
	if err != nil {
		return fmt.Errorf("on %s: %w", s.name, err)
	}
	return nil
}

// try asks one hook and judges the answer as the loop would.
func (g *guest) try(e Entry, s *golden) (outcome string, err error) {
	n, data, out := len(s.rows), abi.SliceBytes(s.rows), uint32(0)
	switch e {
	case EntryAdmit:
		out = uint32(n) * abi.VerdictSize
	case EntryPrioritize:
		out = uint32(n) * abi.RankingSize
	case EntryBatchCap:
		n, data, out = 0, nil, abi.BatchPlanSize
	case EntrySpeculate:
		out = specSize(n)
	case EntryEvents:
		n = min(n, int(g.lay.event.Len/abi.EventSize))
		data = abi.SliceBytes(goldenEvents(s.rows[:n], s.st.NowNS))
	}
	if err := g.hook(e, &s.st, data, n, out); err != nil {
		why := trapFault(err)
		if why == FaultOutOfFuel {
			err = fmt.Errorf("%w; its budget there is %d units: do less for each row", err, g.v.budget.fuel(e, n))
		}
		return why.String(), err
	}
	switch abi.Return(g.call.Ret) {
	case abi.ReturnAbstain:
		return "abstained", nil
	case abi.ReturnDecided:
		if err := checkAnswer(e, g.call.View, n); err != nil {
			return FaultBadOutput.String(), fmt.Errorf("%v: %w", e, err)
		}
		return "decided", nil
	}
	return FaultBadReturn.String(), fmt.Errorf("%v returned %d: return 0 for decided or 1 for abstain", e, g.call.Ret)
}

func goldenEvents(rows []abi.Row, now int64) []abi.Event {
	events := make([]abi.Event, len(rows))
	for i := range events {
		events[i] = abi.Event{ID: rows[i].ID, AtNS: now, Kind: uint8(i % 5), Class: rows[i].Class, Value: 1}
	}
	return events
}

// checkAnswer checks any hook's answer.
func checkAnswer(e Entry, view []byte, n int) error {
	switch e {
	case EntryAdmit:
		out := make([]abi.Verdict, n)
		copy(abi.SliceBytes(out), view)
		return checkVerdicts(out)
	case EntryPrioritize:
		out := make([]abi.Ranking, n)
		copy(abi.SliceBytes(out), view)
		return checkRankings(out)
	case EntryBatchCap:
		var p abi.BatchPlan
		copy(abi.Bytes(&p), view)
		return checkBatchPlan(&p)
	case EntrySpeculate:
		var p abi.SpecPlan
		k := make([]int32, n)
		copy(abi.Bytes(&p), view)
		copy(abi.SliceBytes(k), view[abi.SpecPlanSize:])
		return checkSpecPlan(&p, k)
	}
	return nil
}
