package engine

import (
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
)

// job is one turn of the device's goroutine: it makes the KV cache what the scheduler takes it for, drafts, and computes, so
// that none of it keeps the inbox waiting. It belongs to that goroutine from the loop's send on forward to the answer on
// computed, and to the loop between.
type job struct {
	reset bool // re-initialise the device, and no step

	plan   *sched.Batch
	rows   []planned
	batch  gpu.Batch
	kept   []int // by item of batch: tokens that stay, once they are known
	settle bool  // batch was computed, and kept is known and not yet told to anyone
	asked  []gpu.DraftRow
	asking []int // by asked: its row

	faults []error // of KV operations and the drafter: they cost time and nothing else
}

// planned is a row of the step on its way through the device.
type planned struct {
	sched.Row
	a     *active
	item  int         // in the batch; -1 = the device lost what the row goes on from
	draft []gpu.Token // behind the known tokens
}

// device runs jobs, one at a time.
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
	j := &l.job
	j.faults = j.faults[:0]
	if j.reset {
		return l.resetDevice()
	}
	l.settle()
	for i := range j.plan.Ops {
		j.note(l.kv.apply(&j.plan.Ops[i]))
	}
	l.draft()
	l.buildBatch()
	if len(j.batch.Items) == 0 {
		return nil
	}
	if l.unwanted.Load() {
		return gpu.ErrAborted
	}
	err = l.e.cfg.Device.Forward(&j.batch)
	j.settle = err == nil
	return err
}

func (j *job) note(err error) {
	if err != nil {
		j.faults = append(j.faults, err)
	}
}

// settle tells the drafter and the device which tokens of the last batch stay.
func (l *loop) settle() {
	j := &l.job
	if !j.settle {
		return
	}
	j.settle = false
	if d := l.drafter; d != nil {
		l.drafterDid(d.Observe(&j.batch, j.kept))
	}
	for i := range j.batch.Items {
		if it := &j.batch.Items[i]; j.kept[i] < len(it.Tokens) {
			j.note(l.kv.trim(it.Seq, it.Pos+j.kept[i]))
		}
	}
}

// take makes the plan's rows the job's. It is called by the loop's goroutine.
func (j *job) take(b *sched.Batch, live map[uint64]*active) {
	j.reset, j.plan = false, b
	j.rows = j.rows[:0]
	for i := range b.Rows {
		j.rows = append(j.rows, planned{Row: b.Rows[i], a: live[b.Rows[i].Req.ID]})
	}
}

// draft looks which rows can be computed, and asks for their drafts.
func (l *loop) draft() {
	j := &l.job
	j.asked, j.asking = j.asked[:0], j.asking[:0]
	for i := range j.rows {
		p := &j.rows[i]
		p.draft, p.item = nil, 0
		if !l.kv.ready(&p.Row, p.Req.ID, p.a.history) {
			p.item = -1
			continue
		}
		if p.Draft == 0 {
			continue
		}
		if l.drafter == nil {
			nmin, nmax := l.ngramSizes(j.plan.Spec)
			p.draft = p.a.cut(l, p.a.ngram.Draft(p.a.history, p.Draft, nmin, nmax, p.a.drafted[:0]), p.Draft)
			continue
		}
		j.asked = append(j.asked, gpu.DraftRow{Seq: p.Seq, History: p.a.history, Max: p.Draft, Draft: p.a.drafted[:0]})
		j.asking = append(j.asking, i)
	}
	if len(j.asked) == 0 {
		return
	}
	err := l.drafter.Draft(j.asked)
	if !errors.Is(err, gpu.ErrAborted) && l.drafterDid(err) {
		for n, i := range j.asking {
			p := &j.rows[i]
			p.draft = p.a.cut(l, j.asked[n].Draft, p.Draft)
		}
	}
}

func (l *loop) ngramSizes(cfg sched.SpecCfg) (nmin, nmax int) {
	nmin, nmax = l.e.cfg.NgramMin, l.e.cfg.NgramMax
	if cfg.NgramMin > 0 {
		nmin = cfg.NgramMin
	}
	if cfg.NgramMax > 0 {
		nmax = cfg.NgramMax
	}
	return nmin, max(nmin, nmax)
}

// cut shortens a draft to what is worth verifying: max tokens of the vocabulary, up to the end of the text.
func (a *active) cut(l *loop, draft []gpu.Token, most int) []gpu.Token {
	a.drafted = draft
	draft = draft[:min(len(draft), most)]
	for i, t := range draft {
		if t < 0 || int(t) >= l.e.info.VocabSize || l.e.cfg.Tokenizer.IsEnd(t) && !a.req.IgnoreEOS {
			draft = draft[:i]
			break
		}
	}
	if g := a.req.Grammar; g != nil && len(draft) > 0 && !g.Allows(draft[0]) {
		return nil
	}
	return draft
}

func (l *loop) buildBatch() {
	j := &l.job
	j.batch.Items, j.kept = j.batch.Items[:0], j.kept[:0]
	for i := range j.rows {
		p := &j.rows[i]
		if p.item < 0 {
			continue
		}
		end := p.Start + p.Tokens
		item := gpu.Item{Seq: p.Seq, Pos: p.Start, Tokens: p.a.history[p.Start:end:end]}
		if len(p.draft) > 0 {
			p.a.verify = append(append(p.a.verify[:0], item.Tokens...), p.draft...)
			item.Tokens = p.a.verify
		}
		if p.Sample {
			item.Logits = 1 + len(p.draft)
		}
		p.item = len(j.batch.Items)
		j.batch.Items = append(j.batch.Items, item)
		j.kept = append(j.kept, p.Tokens)
	}
}

// drafterDid notes how the drafter did, and reports whether it did well. One that fails again and again is asked no more: text
// does not depend on it.
func (l *loop) drafterDid(err error) bool {
	if err == nil {
		l.drafterFailures = 0
		return true
	}
	l.job.note(fmt.Errorf("draft with %s: %w", l.drafter.Name(), err))
	if l.drafterFailures++; l.drafterFailures == drafterTries {
		l.drafter = nil
	}
	return false
}

// drafterTries is how often in a row a drafter may fail.
const drafterTries = 8

// keepComputed notes what the device holds of the step's sequences now that it is known which tokens stay.
func (l *loop) keepComputed(err error) {
	j := &l.job
	for i := range j.rows {
		p := &j.rows[i]
		switch {
		case p.item < 0:
		case err != nil:
			l.kv.doubt(p.Seq)
		default:
			keep := p.Tokens
			if s := &l.sampled[i]; p.Sample && s.emitted > 0 {
				keep += s.emitted - 1
			}
			j.kept[p.item] = keep
			l.kv.holds(p.Seq, p.a.history[:p.Start+keep])
		}
	}
}

// resetDevice starts the device anew where it can be.
func (l *loop) resetDevice() error {
	r, ok := l.e.cfg.Device.(gpu.Resetter)
	if !ok {
		return errors.ErrUnsupported
	}
	l.job.settle = false
	if err := r.Reset(); err != nil {
		return fmt.Errorf("reset device: %w", err)
	}
	return nil
}
