package bench

import "github.com/sluice-dev/sluice/plugins/abi"

// busy is a server with a long queue and a full batch.
func busy(rows int) abi.State {
	n := uint32(rows)
	st := abi.State{
		Size: abi.StateSize, StepID: 1000, NowNS: 100e9, RngSeed: 7, WaitingRequests: n, WaitingTokens: uint64(n) * 300, OldestWaitNS: 900e6,
		QueueLimit: max(1024, n), Running: 16, Decoding: 16, LastStepTokens: 16, MaxNumSeqs: 64, MaxBatchedTokens: 2048, BlockSize: 16,
		BlocksTotal: 4096, BlocksFree: 900, BlocksCached: 300, KNow: 3, KMax: abi.MaxDraft, Requests: 5000, Accepts: 4900,
		Drafted: 5000, Accepted: 2500, ArrivalsMilliPerS: 9000, CompletionsMilliPerS: 7500,
	}
	st.Valid = abi.StateHasPrefixHitPPM | abi.StateHasStepNS | abi.StateHasDecodeStepP50NS | abi.StateHasDecodeStepP99NS |
		abi.StateHasITLP50NS | abi.StateHasITLP95NS | abi.StateHasEstimatedWaitNS | abi.StateHasTTFTP95NS
	st.PrefixHitPPM, st.StepNS, st.DecodeStepP50NS, st.DecodeStepP99NS = 250_000, 20e6, 19e6, 40e6
	st.ITLP50NS, st.ITLP95NS, st.EstimatedWaitNS, st.TTFTP95NS = 21e6, 45e6, 800e6, 2e9
	for c := range st.Classes[:2] {
		st.Classes[c] = abi.ClassStats{Waiting: n / 2, Running: 8, OldestWaitNS: 900e6, WaitingTokens: uint64(n) * 150}
		st.SLO[c] = abi.ClassSLO{TTFTNS: 2e9, TPOTNS: 50e6, MaxGapNS: 500e6}
	}
	return st
}

// traffic is n requests of two classes in the phase.
func traffic(n int, phase abi.Phase) []abi.Row {
	rows := make([]abi.Row, n)
	for i := range rows {
		age := int64(i%300) * 3e6
		rows[i] = abi.Row{
			ID: uint64(i + 1), ArrivalNS: 100e9 - age, EnqueueNS: 100e9 - age, AgeNS: age, WaitNS: age, Tenant: uint64(i%7) * 0x9e3779b97f4a7c15,
			Priority: int32(i % 3), Class: uint8(i % 2), Phase: uint8(phase), SpeculationAllowed: 1, PromptTokens: uint32(100 + i%400),
			MaxTokens: 256, KVNeedNext: 1, KVNeedPeak: 20, TenantWeight: 1,
		}
	}
	return rows
}

// happenings is n events of all kinds.
func happenings(n int) []abi.Event {
	events := make([]abi.Event, n)
	for i := range events {
		events[i] = abi.Event{ID: uint64(i + 1), AtNS: 100e9, Kind: uint8(i % len(abi.Enums["EventKind"])), Class: uint8(i % 2), Value: 1}
	}
	return events
}
