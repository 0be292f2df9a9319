package trace

import (
	"strconv"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// NativeName is the policy's name in a Decider when the host's default decided.
const NativeName = "native"

// TPOT is the time per output token: (last - first) / (n - 1) in whole ns, and nil for fewer than two tokens.
func TPOT(first, last int64, n int) *int64 {
	if n < 2 {
		return nil
	}
	v := (last - first) / int64(n-1)
	return &v
}

// FromRequest is the record of a request that has ended, as TakeEnded returns it: every figure that follows from the
// scheduler's stamps, lengths and counts. who resolves policies and may be nil where only the host decided. What the
// scheduler does not know (ID, Arrival on the wall clock, Tenant, Model, Written, Gaps, ...) is the caller's to add.
func FromRequest(r *sched.Request, class string, who func(abi.PolicyID) Decider) Record {
	if who == nil {
		who = nativeOnly
	}
	rec := Record{
		V: Version, Class: class, Priority: r.Priority, Stream: r.Stream,
		PromptTokens: r.PromptTokens, MaxTokens: r.MaxTokens, OutputTokens: r.Generated, Attempt: r.Attempt, TTL: r.TTL,
		Outcome: r.Outcome.String(), Status: status(r),
		E2E: r.Ended - r.Arrival, Emissions: r.Emissions,
		Preemptions: r.Preemptions, TokensLost: r.TokensLost, Requeued: r.Requeued, CachedTokens: r.Cached,
		Drafted: r.Drafted, Accepted: r.Accepted,
		Admit: who(r.AdmitBy), Prioritize: who(r.PriorityBy), Batch: who(r.BatchBy), Spec: who(r.SpecBy),
	}
	if rejected(r.Outcome) || r.Outcome == sched.OutcomePreemptFailed {
		rec.Reason, rec.RetryAfter = r.Verdict.Reason.String(), r.Verdict.RetryAfter
	}
	if r.Scheduled != 0 {
		rec.Queue = since(r.Arrival, r.Scheduled)
	}
	if r.Generated > 0 {
		rec.TTFT = since(r.Arrival, r.FirstToken)
		rec.TPOT = TPOT(r.FirstToken, r.LastToken, r.Generated)
	}
	if r.Emissions > 1 {
		gap := r.MaxGap
		rec.MaxGap = &gap
	}
	return rec
}

func since(from, to int64) *int64 {
	d := to - from
	return &d
}

func nativeOnly(id abi.PolicyID) Decider {
	if id == abi.Native {
		return Decider{Policy: NativeName}
	}
	// Without a resolver the number is all there is; a negative one is a fallback (see abi.PolicyID).
	return Decider{Policy: "policy-" + strconv.Itoa(max(int(id), -int(id))), Fallback: id < 0}
}

// rejected tells the outcomes in which a verdict ended a request: before it ran, or by its deadline.
func rejected(o sched.Outcome) bool {
	return o == sched.OutcomeShedAtArrival || o == sched.OutcomeShedFromQueue || o == sched.OutcomeExpired
}

// StatusClientGone is the status of a request whose client went away: nobody saw one.
const StatusClientGone = 499

func status(r *sched.Request) int {
	switch r.Outcome {
	case sched.OutcomeCompleted, sched.OutcomeLength:
		return 200
	case sched.OutcomeCancelledInQueue, sched.OutcomeCancelledRunning:
		return StatusClientGone
	case sched.OutcomeFailed:
		return 500
	case sched.OutcomeDrained:
		return 503
	}
	return r.Verdict.Status
}
