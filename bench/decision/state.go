package main

import "github.com/sluice-dev/sluice/plugins/abi"

// busyState is a server with a queue and a full batch.
func busyState() *abi.State {
	st := &abi.State{
		Size: abi.StateSize, StepID: 1000, NowNS: 100e9, RngSeed: 7, WaitingRequests: 40, WaitingTokens: 20_000, OldestWaitNS: 900e6,
		QueueLimit: 1024, Running: 16, Decoding: 16, MaxNumSeqs: 16, MaxBatchedTokens: 512, BlockSize: 16, BlocksTotal: 1024, BlocksFree: 300,
		KMax: abi.MaxDraft, Requests: 5000, Accepts: 4900,
	}
	st.Valid = abi.StateHasStepNS | abi.StateHasDecodeStepP50NS | abi.StateHasDecodeStepP99NS | abi.StateHasITLP50NS | abi.StateHasITLP95NS | abi.StateHasEstimatedWaitNS
	st.StepNS, st.DecodeStepP50NS, st.DecodeStepP99NS, st.ITLP50NS, st.ITLP95NS, st.EstimatedWaitNS = 20e6, 19e6, 40e6, 21e6, 45e6, 800e6
	return st
}

func someRows(n int) []abi.Row {
	rows := make([]abi.Row, n)
	for i := range rows {
		age := int64(i) * 3e6
		rows[i] = abi.Row{ID: uint64(i + 1), ArrivalNS: 100e9 - age, EnqueueNS: 100e9 - age, AgeNS: age, WaitNS: age, Class: uint8(i % 2),
			Phase: uint8(abi.PhaseQueued), SpeculationAllowed: 1, PromptTokens: uint32(100 + i), MaxTokens: 256, KVNeedPeak: 20, TenantWeight: 1}
	}
	return rows
}
