package engine

import (
	"fmt"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// deliverEnded tells readers and the trace how requests ended.
func (l *loop) deliverEnded() {
	l.logNotices() // while those that it names are known
	for _, r := range l.core.TakeEnded() {
		a := l.live[r.ID]
		delete(l.live, r.ID)
		res := Result{
			Outcome: r.Outcome, Verdict: r.Verdict, PromptTokens: r.PromptTokens, OutputTokens: r.Generated, Err: a.err,
			CachedTokens: r.Cached, Drafted: r.Drafted, Accepted: r.Accepted,
		}
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
	if len(l.live) == 0 {
		for _, empty := range l.empty {
			close(empty)
		}
		l.empty = nil
	}
}

func (l *loop) record(a *active) trace.Record {
	r := &a.sched
	var who func(abi.PolicyID) trace.Decider
	if p := l.e.cfg.Policies; p != nil {
		who = p.Who
	}
	rec := trace.FromRequest(r, l.e.cfg.className(r.Class), who)
	rec.ID, rec.Arrival = a.req.ID, l.e.unix(r.Arrival)
	rec.Model, rec.Backend, rec.Gaps = l.e.info.Model, l.e.info.Device, a.gaps
	if at := a.stream.written.Load(); at > 0 {
		first := at - r.Arrival
		rec.Written = &first
	}
	if r.Tenant != 0 {
		rec.Tenant = fmt.Sprintf("%016x", r.Tenant)
	}
	return rec
}
