package engine

import (
	"fmt"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// statusClientGone is what the access log and the trace say of a request whose client went away; nobody receives it.
const statusClientGone = 499

// deliverEnded tells readers and the trace how requests ended.
func (l *loop) deliverEnded() {
	for _, r := range l.core.TakeEnded() {
		a := l.live[r.ID]
		delete(l.live, r.ID)
		res := Result{Outcome: r.Outcome, Verdict: r.Verdict, PromptTokens: r.PromptTokens, OutputTokens: r.Generated, Err: a.err}
		switch r.Outcome {
		case sched.OutcomeCompleted:
			res.Finish = "stop"
		case sched.OutcomeLength:
			res.Finish = "length"
		}
		a.end(res)
		if record := l.e.cfg.Record; record != nil {
			record(l.record(a))
		}
	}
	if l.empty != nil && len(l.live) == 0 {
		close(l.empty)
		l.empty = nil
	}
}

func (l *loop) record(a *active) trace.Record {
	r := &a.sched
	rec := trace.Record{
		V: trace.Version, ID: a.req.ID, Arrival: l.e.unix(r.Arrival), Class: l.e.cfg.className(r.Class), Priority: r.Priority,
		Model: l.e.info.Model, Backend: l.e.info.Device, Stream: r.Stream, PromptTokens: r.PromptTokens, MaxTokens: r.MaxTokens,
		OutputTokens: r.Generated, Attempt: r.Attempt, TTL: r.TTL,
		Outcome: r.Outcome.String(), Status: status(r), RetryAfter: r.Verdict.RetryAfter,
		E2E: r.Ended - r.Arrival, Emissions: r.Emissions, Gaps: a.gaps, Preemptions: r.Preemptions, TokensLost: r.TokensLost,
		Requeued: r.Requeued, Drafted: r.Drafted, Accepted: r.Accepted,
		Admit: l.decider(r.AdmitBy), Prioritize: l.decider(r.PriorityBy), Batch: l.decider(r.BatchBy), Spec: l.decider(r.SpecBy),
	}
	if r.Tenant != 0 {
		rec.Tenant = fmt.Sprintf("%016x", r.Tenant)
	}
	if r.Verdict.Status != 0 {
		rec.Reason = r.Verdict.Reason.String()
	}
	rec.Queue = since(r.Scheduled, r.Arrival)
	rec.TTFT = since(r.FirstToken, r.Arrival)
	if r.Generated >= 2 {
		tpot := (r.LastToken - r.FirstToken) / int64(r.Generated-1)
		rec.TPOT = &tpot
	}
	if r.Emissions >= 2 {
		gap := r.MaxGap
		rec.MaxGap = &gap
	}
	return rec
}

// since is at - from, or nothing when at was never reached.
func since(at, from int64) *int64 {
	if at == 0 {
		return nil
	}
	d := at - from
	return &d
}

func status(r *sched.Request) int {
	switch r.Outcome {
	case sched.OutcomeCompleted, sched.OutcomeLength:
		return 200
	case sched.OutcomeCancelledInQueue, sched.OutcomeCancelledRunning:
		return statusClientGone
	case sched.OutcomeFailed:
		return 500
	case sched.OutcomeDrained:
		return 503
	}
	return r.Verdict.Status
}

func (l *loop) decider(id abi.PolicyID) trace.Decider {
	if id == abi.Native || l.e.cfg.Policies == nil {
		return trace.Decider{Policy: "native"}
	}
	d := trace.Decider{Fallback: id < 0}
	if id < 0 {
		id = -id
	}
	d.Policy, d.Digest = l.e.cfg.Policies.Name(id)
	return d
}
