package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
)

// loop is what the engine's goroutine owns. Others touch it twice only, while this one waits or keeps off: the device's
// goroutine reads the batch between forward and the answer on computed, and sampleInParallel spreads rows over helpers.
type loop struct {
	e    *Engine
	core *sched.Core

	live   map[uint64]*active
	nextID uint64
	burst  []*sched.Request

	flying   *sched.Batch // nil = no step on the device
	batch    gpu.Batch
	drafts   [][]gpu.Token // by row of flying
	draftBuf []gpu.Token   // tokens of the rows with drafts
	results  []sched.Result
	sampled  []sampled // by row of flying
	todo     []int     // scratch of sampleRows

	saved    map[uint64]*gpu.Saved // KV of preempted requests
	forward  chan struct{}
	computed chan error
	empty    []chan struct{} // closed once nothing is live
}

func newLoop(e *Engine, core *sched.Core) loop {
	return loop{e: e, core: core, live: map[uint64]*active{}, saved: map[uint64]*gpu.Saved{}, forward: make(chan struct{}), computed: make(chan error, 1)}
}

func (l *loop) run() {
	defer close(l.e.gone)
	go l.device()
	defer close(l.forward)
	tick := time.NewTicker(l.e.cfg.Tick)
	defer tick.Stop()
	for {
		if l.flying == nil {
			l.startStep()
		}
		select {
		case m := <-l.e.inbox:
			l.handle(m)
		case err := <-l.computed:
			l.finishStep(err)
		case <-tick.C:
			l.core.Tick(l.e.Now())
		case <-l.e.stop:
			l.finish()
			return
		}
		l.deliverEnded()
	}
}

// finish answers what came after the last request had ended: arrivals are refused as draining.
func (l *loop) finish() {
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
		if m.arrive != nil {
			l.nextID++
			m.arrive.sched.ID = l.nextID
			l.live[l.nextID] = m.arrive
			l.burst = append(l.burst, &m.arrive.sched)
		} else {
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
}

func (l *loop) takeBurst() {
	if len(l.burst) > 0 {
		l.core.Arrive(l.e.Now(), l.burst...)
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

// cancelAll ends what is live as drained.
func (l *loop) cancelAll(now int64) {
	for _, id := range slices.Sorted(maps.Keys(l.live)) {
		l.live[id].fail(ErrDraining)
		l.core.Cancel(now, id, sched.OutcomeDrained)
	}
}

// device computes steps, one at a time, so that the inbox is served meanwhile.
func (l *loop) device() {
	for range l.forward {
		l.computed <- l.compute()
	}
}

func (l *loop) compute() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("forward pass: panic: %v", p)
		}
	}()
	return l.e.cfg.Device.Forward(&l.batch)
}

// startStep swaps policies if others are in force and starts the next step if there is one.
func (l *loop) startStep() {
	now := l.e.Now()
	if p := l.e.cfg.Policies; p != nil {
		if d, epoch, changed := p.Swap(now); changed {
			l.core.SetPolicies(d, epoch)
		}
	}
	b := l.core.Plan(now)
	if b == nil {
		return
	}
	l.flying = b
	for i := range b.Ops {
		if err := l.moveKV(&b.Ops[i]); err != nil {
			l.finishStep(err)
			return
		}
	}
	l.buildBatch(b)
	l.forward <- struct{}{}
}

// moveKV changes what the device's sequences hold.
func (l *loop) moveKV(op *sched.Op) (err error) {
	dev := l.e.cfg.Device
	switch op.Kind {
	case sched.OpTrim:
		err = dev.Trim(op.Seq, op.Tokens)
	case sched.OpCopy:
		err = dev.Copy(op.From, op.Seq, op.Tokens)
	case sched.OpSave:
		l.saved[op.ID], err = dev.Save(op.Seq)
	case sched.OpRestore:
		err = dev.Restore(op.Seq, l.saved[op.ID])
		delete(l.saved, op.ID)
	case sched.OpForget:
		delete(l.saved, op.ID)
	}
	if err != nil {
		return fmt.Errorf("change KV of sequence %d: %w", op.Seq, err)
	}
	return nil
}

func (l *loop) buildBatch(b *sched.Batch) {
	l.batch.Items = l.batch.Items[:0]
	l.drafts = l.drafts[:0]
	l.draftBuf = l.draftBuf[:0]
	for i := range b.Rows {
		row := &b.Rows[i]
		a := l.live[row.Req.ID]
		end := row.Start + row.Tokens
		item := gpu.Item{Seq: row.Seq, Pos: row.Start, Tokens: a.history[row.Start:end:end]}
		var draft []gpu.Token
		if row.Draft > 0 {
			item.Tokens, draft = l.draft(a, row, b.Spec)
		}
		if row.Sample {
			item.Logits = 1 + len(draft)
		}
		l.drafts = append(l.drafts, draft)
		l.batch.Items = append(l.batch.Items, item)
	}
}

// draft returns the row's known tokens with the drafts after them, and the drafts alone. Both are in the loop's buffer.
func (l *loop) draft(a *active, row *sched.Row, cfg sched.SpecCfg) (tokens, draft []gpu.Token) {
	nmin, nmax := l.e.cfg.NgramMin, l.e.cfg.NgramMax
	if cfg.NgramMin > 0 {
		nmin = cfg.NgramMin
	}
	if cfg.NgramMax > 0 {
		nmax = cfg.NgramMax
	}
	from := len(l.draftBuf)
	l.draftBuf = append(l.draftBuf, a.history[row.Start:row.Start+row.Tokens]...)
	l.draftBuf = a.ngram.Draft(a.history, row.Draft, nmin, max(nmin, nmax), l.draftBuf)
	tokens = l.draftBuf[from:len(l.draftBuf):len(l.draftBuf)]
	return tokens, tokens[row.Tokens:]
}

// finishStep samples or verifies, hands the scheduler the results and the readers their text.
func (l *loop) finishStep(err error) {
	b := l.flying
	l.flying = nil
	if err == nil {
		l.sampleRows(b)
	}
	l.results = l.results[:0]
	for i := range b.Rows {
		l.results = append(l.results, l.result(b, i, err))
	}
	now := l.e.Now()
	for i := range b.Rows {
		if n := l.results[i].Emitted; n > 0 {
			l.emit(now, l.live[b.Rows[i].Req.ID], n, l.sampled[i].text)
		}
	}
	l.core.Complete(now, l.results)
	if err != nil && !errors.Is(err, gpu.ErrAborted) {
		l.e.cfg.Log.Error("device step failed", "step", b.Step, "rows", len(b.Rows), "error", err)
	}
}

func (l *loop) emit(now int64, a *active, tokens int, text string) {
	a.gap(now, tokens)
	a.last = now
	if !a.send(text, tokens) {
		a.fail(ErrSlowConsumer)
		l.core.Cancel(now, a.sched.ID, sched.OutcomeCancelledRunning)
	}
}

// result is what the scheduler learns of one row. A failure of the step is one of each of its rows.
func (l *loop) result(b *sched.Batch, i int, stepErr error) sched.Result {
	if stepErr == nil && !b.Rows[i].Sample {
		return sched.Result{}
	}
	if stepErr == nil {
		stepErr = l.sampled[i].err
	}
	if stepErr != nil {
		l.live[b.Rows[i].Req.ID].fail(stepErr)
		return sched.Result{Done: sched.OutcomeFailed}
	}
	s := &l.sampled[i]
	return sched.Result{Emitted: s.emitted, Drafted: len(l.drafts[i]), Done: s.done}
}
