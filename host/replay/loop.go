package replay

import (
	"context"
	"errors"
	"math"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
)

// tickNS is how often the queue is looked through, as in the live engine: while a step runs too.
const tickNS = int64(10e6)

// stuckNS bounds the virtual time in which nothing runs, nothing arrives and nothing ends: the scheduler's own watchdog
// must have acted long before.
const stuckNS = int64(3600e9)

// ErrStuck means that the scheduler let requests wait for ever. It is a bug of the scheduler, not of a policy.
var ErrStuck = errors.New("requests wait and nothing runs")

// loop drives one scheduler through one workload.
type loop struct {
	in      *Input
	work    *workload
	core    *sched.Core
	log     *decisionLog
	run     *Result
	now     int64
	ticked  int64 // moment of the last tick
	next    int   // job that arrives next
	leaving int   // departure that comes next
	burst   []*sched.Request
	results []sched.Result
	parts   []sim.Part
}

// Run replays in.Records once. It is deterministic: the same input, fresh policies included, gives an equal Result.
func Run(ctx context.Context, in Input) (*Result, error) {
	in, err := in.withDefaults()
	if err != nil {
		return nil, err
	}
	work, err := newWorkload(&in)
	if err != nil {
		return nil, err
	}
	core, err := sched.New(in.Sched, in.Policies)
	if err != nil {
		return nil, err
	}
	l := &loop{in: &in, work: work, core: core, log: newDecisionLog(in.Who), run: newResult(&in, work), now: epoch}
	if err := l.drive(ctx); err != nil {
		return nil, err
	}
	l.run.finish(l.core.Stats(), l.now, l.log.sum())
	return l.run, nil
}

func (l *loop) drive(ctx context.Context) error {
	moved := l.now
	for turn := 0; ; turn++ {
		if turn%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l.advance(l.now)
		l.swap(l.now)
		if b := l.core.Plan(l.now); b != nil {
			l.step(b)
			moved = l.now
			continue
		}
		l.takeEnded()
		at, kind := l.nextEvent()
		switch {
		case kind == eventNone:
			return nil
		case kind != eventTick:
			moved = at
		case at-moved > stuckNS:
			return ErrStuck
		}
		l.swap(at) // no step is in flight
		l.advance(at)
	}
}

// swap puts the policies in charge that are in force from now on, if they are others.
func (l *loop) swap(now int64) {
	if p, ok := l.in.Policies.(Swapper); ok {
		if d, epoch, changed := p.Swap(now); changed {
			l.core.SetPolicies(d, epoch)
		}
	}
}

// step runs one batch on the simulated device. Meanwhile requests arrive, clients leave, and the queue is looked through.
func (l *loop) step(b *sched.Batch) {
	l.results, l.parts = l.results[:0], l.parts[:0]
	for i := range b.Rows {
		res := l.result(&b.Rows[i])
		l.results = append(l.results, res)
		part := sim.Part{Context: b.Rows[i].Start, New: b.Rows[i].Tokens + res.Drafted}
		if b.Rows[i].Sample {
			part.Logits = 1 + res.Drafted
		}
		l.parts = append(l.parts, part)
	}
	l.log.step(l.now, b)
	ns := max(l.in.Sim.StepNS(l.parts)*int64(l.in.StepPercent)/100, 1)
	l.run.busy += ns
	end := l.now + ns
	l.advance(end)
	l.now = end
	l.core.Complete(end, l.results)
	l.takeEnded()
}

// result is what the model and its drafter would do for one row: how many drafts hold, whether the answer is complete, and what there is to
// draft for the next step.
func (l *loop) result(row *sched.Row) sched.Result {
	if !row.Sample {
		return sched.Result{}
	}
	j := &l.work.jobs[row.Req.ID-1]
	left := j.length - row.Req.Generated
	res := sched.Result{Drafted: row.Draft, Emitted: 1}
	for k := range row.Draft {
		if !chance(j.accept, draw(l.in.Seed, drawAccept, row.Req.ID, uint64(row.Req.Generated+k))) {
			break
		}
		res.Emitted++
	}
	if res.Emitted >= left {
		res.Emitted, res.Done = left, sched.OutcomeLength
		if j.done {
			res.Done = sched.OutcomeCompleted
		}
	}
	if chance(j.offers.chance, draw(l.in.Seed, drawOffer, row.Req.ID, uint64(row.Req.Generated+res.Emitted))) {
		res.Available = j.offers.tokens
	}
	return res
}

// The kinds of events, in their order at one moment.
type eventKind int

const (
	eventArrival eventKind = iota
	eventDeparture
	eventTick
	eventNone
)

// nextEvent returns the earliest event that has not happened. The clock ticks only while something is there to look at.
func (l *loop) nextEvent() (at int64, kind eventKind) {
	at, kind = math.MaxInt64, eventNone
	if !l.core.Idle() {
		at, kind = max((l.now+tickNS-1)/tickNS*tickNS, l.ticked+tickNS), eventTick
	}
	if l.leaving < len(l.work.departures) {
		if d := l.work.departures[l.leaving].at; d <= at {
			at, kind = d, eventDeparture
		}
	}
	if l.next < len(l.work.jobs) {
		if a := l.work.jobs[l.next].req.Arrival; a <= at {
			at, kind = a, eventArrival
		}
	}
	return at, kind
}

// advance lets everything happen that happens up to and including the moment to.
func (l *loop) advance(to int64) {
	for {
		at, kind := l.nextEvent()
		if at > to || kind == eventNone {
			return
		}
		l.now = max(l.now, at)
		switch kind {
		case eventArrival:
			l.arrive()
		case eventDeparture:
			l.core.Cancel(l.now, l.work.jobs[l.work.departures[l.leaving].job].req.ID, sched.OutcomeCancelledRunning)
			l.leaving++
		case eventTick:
			l.core.Tick(l.now)
			l.ticked = l.now
		}
		l.takeEnded()
	}
}

// arrive hands over all requests of one moment together.
func (l *loop) arrive() {
	l.burst = l.burst[:0]
	at := l.work.jobs[l.next].req.Arrival
	for l.next < len(l.work.jobs) && l.work.jobs[l.next].req.Arrival == at {
		l.burst = append(l.burst, &l.work.jobs[l.next].req)
		l.next++
	}
	l.core.Arrive(l.now, l.burst...)
}

func (l *loop) takeEnded() {
	for _, r := range l.core.TakeEnded() {
		l.log.ended(r)
		j := &l.work.jobs[r.ID-1]
		l.run.add(j, r)
		if l.in.OnEnd != nil {
			rec := trace.FromRequest(r, l.work.className(r.Class), l.in.Who)
			rec.ID, rec.Arrival, rec.Model, rec.Backend = recordID(r.ID), r.Arrival, j.model, "sim:"+l.in.Sim.Name
			l.in.OnEnd(&rec)
		}
	}
}
