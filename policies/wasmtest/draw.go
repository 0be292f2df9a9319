package wasmtest

import (
	"math/rand/v2"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// noise is a state and rows of random bytes: what no host would write, and what no policy may trap on.
func noise(seed uint64, n int) (st sluice.State, rows []sluice.Row) {
	rng := rand.NewPCG(seed, 1)
	states := make([]sluice.State, 1)
	fill(rng, bytesOf(states))
	rows = make([]sluice.Row, n)
	fill(rng, bytesOf(rows))
	return states[0], rows
}

func fill(rng *rand.PCG, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint64())
	}
}

// likely is a state and rows such as a host writes: waits of seconds, a handful of classes, optional fields now and then.
func likely(seed uint64, n int, now int64) (st sluice.State, rows []sluice.Row) {
	rng := rand.New(rand.NewPCG(seed, 2))
	upTo := func(most int64) int64 { return rng.Int64N(most + 1) }
	st = sluice.State{
		Size: sluice.StateSize, StepID: uint64(now / (20 * sluice.Millisecond)), NowNS: now, RngSeed: rng.Uint64(),
		Valid: rng.Uint64(), HostState: uint8(max(0, upTo(8)-6)), QueueLimit: 1024,
		Running: uint32(upTo(20)), MaxNumSeqs: uint32(1 + upTo(64)), MaxBatchedTokens: 2048, BlockSize: 16, BlocksTotal: 4096,
		DecodeStepP99NS: upTo(120 * sluice.Millisecond), ITLP95NS: upTo(120 * sluice.Millisecond),
		EstimatedWaitNS: upTo(60 * sluice.Second), KMax: uint32(upTo(15)),
		Drafted: uint64(now / sluice.Millisecond),
	}
	st.Accepted = st.Drafted / uint64(1+upTo(20))
	rows = make([]sluice.Row, n)
	for i := range rows {
		r := &rows[i]
		wait := min(upTo(40*sluice.Second), now)
		*r = sluice.Row{
			ID: uint64(i + 1), Valid: rng.Uint64(), ArrivalNS: now - wait, EnqueueNS: now - wait, AgeNS: wait, WaitNS: wait,
			Priority: int32(upTo(4)) - 2, Class: uint8(upTo(3)), Phase: uint8(upTo(3)), Stream: uint8(upTo(1)),
			SpeculationAllowed: uint8(upTo(1)), PromptTokens: uint32(1 + upTo(2000)), MaxTokens: uint32(1 + upTo(500)),
			Preemptions: uint32(upTo(3)), TenantWeight: 1,
		}
		if r.In(sluice.PhaseQueued) {
			k := &st.Classes[r.ClassIndex()]
			k.Waiting++
			k.OldestWaitNS = max(k.OldestWaitNS, wait)
			st.WaitingRequests++
			st.OldestWaitNS = max(st.OldestWaitNS, wait)
		}
	}
	return st, rows
}
