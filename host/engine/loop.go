package engine

import (
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// loop is what the engine's goroutine owns. Others touch it twice only, while this one keeps off: the device's goroutine has
// job, kv and drafter between forward and the answer on computed, and sampleInParallel spreads rows over helpers.
type loop struct {
	e    *Engine
	core *sched.Core

	live   map[uint64]*active
	nextID uint64
	burst  []*sched.Request

	state    abi.HostState // running or draining; the scheduler is paused while the device starts anew
	busy     bool          // the device's goroutine has a job
	flying   *sched.Batch  // the step that it computes; nil = none
	unwanted atomic.Bool   // nobody waits for that step any more
	job      job
	kv       sequences
	drafter  gpu.Drafter // nil = n-grams

	drafterFailures int

	results []sched.Result
	sampled []sampled // by row of the job
	todo    []int     // scratch of sampleRows

	forward  chan struct{}
	computed chan error
	empty    []chan struct{} // closed once nothing is live

	health health
	memory memory
}

func newLoop(e *Engine, core *sched.Core) *loop {
	l := &loop{
		e: e, core: core, live: map[uint64]*active{}, kv: newSequences(e.cfg.Device), drafter: e.cfg.Drafter,
		forward: make(chan struct{}), computed: make(chan error, 1),
	}
	return l
}

func (l *loop) run() {
	defer close(l.e.gone)
	go l.device()
	defer close(l.forward)
	tick := time.NewTicker(l.e.cfg.Tick)
	defer tick.Stop()
	for {
		if !l.busy {
			l.startStep()
		}
		select {
		case m := <-l.e.inbox:
			l.handle(m)
		case err := <-l.computed:
			l.finishJob(err)
		case <-tick.C:
			l.tick(l.e.Now())
		case <-l.e.stop:
			l.finish()
			return
		}
		l.deliverEnded()
	}
}

func (l *loop) tick(now int64) {
	l.core.Tick(now)
	l.abandon()
	l.health.watch(now, l)
	l.memory.watch(now, l)
}

// finish waits for the device and answers what came after the last request had ended: arrivals are refused as draining.
func (l *loop) finish() {
	if l.busy {
		l.finishJob(<-l.computed)
		l.deliverEnded()
	}
	for {
		select {
		case m := <-l.e.inbox:
			l.handle(m)
			l.deliverEnded()
		default:
			return
		}
	}
}

// handle takes m and all else that has come meanwhile, so that requests of one burst are judged together.
func (l *loop) handle(m message) {
	l.burst = l.burst[:0]
	for n := 0; ; n++ {
		for _, a := range m.arrive {
			l.nextID++
			a.sched.ID = l.nextID
			l.live[l.nextID] = a
			l.burst = append(l.burst, &a.sched)
		}
		if len(m.arrive) == 0 {
			l.takeBurst()
			l.handleOther(m)
		}
		if n >= cap(l.e.inbox) {
			break
		}
		select {
		case m = <-l.e.inbox:
			continue
		default:
		}
		break
	}
	l.takeBurst()
	l.abandon()
}

func (l *loop) takeBurst() {
	if len(l.burst) > 0 {
		l.core.Arrive(l.e.Now(), l.burst...)
		clear(l.burst)
		l.burst = l.burst[:0]
	}
}

func (l *loop) handleOther(m message) {
	if m.run != nil {
		m.run(l.e.Now())
		return
	}
	l.core.Cancel(l.e.Now(), m.cancel.sched.ID, sched.OutcomeCancelledRunning)
}

// abandon aborts a step for which nobody waits any more. A step that is about to start is not aborted by it, so each tick
// tries again.
func (l *loop) abandon() {
	if l.flying != nil && l.core.StepUnwanted() {
		l.unwanted.Store(true)
		l.e.cfg.Device.Abort()
	}
}

// cancelAll ends what is live as drained.
func (l *loop) cancelAll(now int64) {
	for _, id := range slices.Sorted(maps.Keys(l.live)) {
		l.live[id].fail(ErrDraining)
		l.core.Cancel(now, id, sched.OutcomeDrained)
	}
}

// startStep swaps policies if others are in force and starts the next step if there is one.
func (l *loop) startStep() {
	now := l.e.Now()
	l.health.beat.Store(now)
	if p := l.e.cfg.Policies; p != nil {
		if d, epoch, changed := p.Swap(now); changed {
			l.core.SetPolicies(d, epoch)
		}
	}
	if l.health.resetDue(now) {
		l.job.reset = true
		if l.state != abi.HostStateDraining {
			l.core.SetHostState(now, abi.HostStatePaused) // who waits does not lose the time that this takes
		}
		l.start(now)
		return
	}
	if l.health.suspended() {
		return
	}
	l.core.SetPressure(l.pressure())
	b := l.core.Plan(now)
	if b == nil {
		return
	}
	l.flying = b
	l.job.take(b, l.live)
	l.unwanted.Store(false)
	l.start(now)
}

func (l *loop) start(now int64) {
	l.busy = true
	l.health.begin(now)
	l.forward <- struct{}{}
}

// pressure is what the scheduler may not use at present.
func (l *loop) pressure() sched.Pressure {
	p := l.memory.pressure(l)
	if c := l.health.seqs; c > 0 && (p.MaxSeqs == 0 || c < p.MaxSeqs) {
		p.MaxSeqs = c
	}
	return p
}

// finishJob takes back what the device's goroutine had.
func (l *loop) finishJob(err error) {
	now := l.e.Now()
	l.busy = false
	took := l.health.end(now)
	for _, id := range l.job.unsaved {
		l.core.ForgetSaved(id)
	}
	for _, fault := range l.job.faults {
		l.health.faults.KV++
		l.e.cfg.Log.Warn("the device could not do what it was asked beside a step", "error", fault)
	}
	if l.job.reset {
		l.job.reset = false
		l.finishReset(now, err)
		if !l.health.suspended() {
			l.core.SetHostState(now, l.state)
		}
		return
	}
	l.finishStep(err)
	l.judgeStep(now, took, err)
}

// finishStep samples or verifies, hands the scheduler the results and the readers their text.
func (l *loop) finishStep(err error) {
	l.flying = nil
	if err == nil {
		l.sampleRows()
	}
	l.keepComputed(err)
	l.results = l.results[:0]
	for i := range l.job.rows {
		l.results = append(l.results, l.result(i, err))
	}
	now := l.e.Now()
	l.core.Complete(now, l.results)
	for i := range l.job.rows {
		if n := l.results[i].Emitted; n > 0 {
			l.emit(now, l.job.rows[i].a, &l.sampled[i])
		}
	}
}

// emit comes after Complete, so that the last event of a text can say that it is the last one.
func (l *loop) emit(now int64, a *active, s *sampled) {
	a.gap(now, s.emitted)
	a.last = now
	a.add(s)
	if a.sched.Outcome == sched.OutcomeNone && !a.send(false) {
		a.fail(ErrSlowConsumer)
		l.core.Cancel(now, a.sched.ID, sched.OutcomeCancelledRunning)
	}
}

// result is what the scheduler learns of one row. A failure of the step is one of each of its rows.
func (l *loop) result(i int, stepErr error) sched.Result {
	p := &l.job.rows[i]
	switch {
	case p.item < 0:
		l.health.faults.Lost++
		return sched.Result{Lost: true}
	case stepErr == nil && !p.Sample:
		return sched.Result{}
	case stepErr == nil:
		stepErr = l.sampled[i].err
	}
	if stepErr != nil {
		if !errors.Is(stepErr, gpu.ErrAborted) { // which happens only to what ended otherwise
			p.a.fail(stepErr)
		}
		return sched.Result{Done: sched.OutcomeFailed}
	}
	s := &l.sampled[i]
	return sched.Result{
		Emitted: s.emitted, Drafted: len(p.draft.Tokens), Done: s.done, Hashes: s.hashes, HitLength: s.hit, Available: s.available,
	}
}
