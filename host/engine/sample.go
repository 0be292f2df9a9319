package engine

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// sampled is what became of one row: the tokens drawn from its logits, and the text behind them.
type sampled struct {
	rows    [][]float32 // logits: of the last known token, then of each draft
	emitted int
	done    sched.Outcome
	text    string
	err     error

	hashes         []uint64 // of the KV blocks that were filled
	hit, available int      // what n-grams offer for the next step
}

// sampleRows draws the tokens of all rows that sample. Drawing at a temperature reads a whole vocabulary several times, so
// the rows are spread over the CPUs, which have nothing else to do between two steps. Each draw is a pure function of its
// own request, so the order does not matter. The device is only touched from this goroutine.
func (l *loop) sampleRows() {
	rows := l.job.rows
	for len(l.sampled) < len(rows) {
		l.sampled = append(l.sampled, sampled{})
	}
	todo := l.todo[:0]
	costly := 0
	for i := range rows {
		s := &l.sampled[i]
		*s = sampled{rows: s.rows[:0]}
		if !rows[i].Sample || rows[i].item < 0 {
			continue
		}
		if s.err = l.readLogits(s, &rows[i]); s.err == nil {
			todo = append(todo, i)
		}
		if r := &rows[i].a.req; r.Sampling.Temperature > 0 || r.Grammar != nil || r.Logprobs {
			costly++
		}
	}
	l.todo = todo
	if costly >= 2 {
		l.sampleInParallel(todo)
		return
	}
	for _, i := range todo {
		l.sampleRow(i)
	}
}

func (l *loop) sampleInParallel(todo []int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(todo)); i = next.Add(1) - 1 {
				l.sampleRow(todo[i])
			}
		})
	}
	wg.Wait()
}

func (l *loop) readLogits(s *sampled, p *planned) error {
	for i := range 1 + len(p.draft.Tokens) {
		row, err := l.e.cfg.Device.Logits(p.item, i)
		if err != nil {
			return fmt.Errorf("read logits: %w", err)
		}
		s.rows = append(s.rows, row)
	}
	return nil
}

// sampleRow draws and verifies. It touches nothing but the row's own request, so that what goes wrong in its grammar or its text
// ends that one alone.
func (l *loop) sampleRow(i int) {
	s, p := &l.sampled[i], &l.job.rows[i]
	a := p.a
	defer func() {
		if r := recover(); r != nil {
			*s = sampled{rows: s.rows, err: fmt.Errorf("sample: panic: %v", r)}
			l.e.cfg.Log.Error("sampling panicked", "request_id", a.req.ID, "panic", r, "stack", string(debug.Stack()))
		}
	}()
	from := len(a.history)
	logits := func(i int) ([]float32, error) { return s.rows[i], nil }
	if _, s.err = spec.Verify(a.sampler, logits, p.draft, from-len(a.req.Prompt), &a.history); s.err != nil {
		return
	}
	a.take(l.e.cfg.Tokenizer, from, s)
	if h := l.e.names; h != nil {
		had := len(a.hashes)
		a.hashes = h.extend(a.hashes, a.root, a.history)
		s.hashes = a.hashes[had:len(a.hashes):len(a.hashes)]
	}
	if l.e.cfg.Sched.MaxDraft > 0 && s.done == sched.OutcomeNone && !a.req.NoSpec {
		l.offer(a, s)
	}
}

// offer tells what there is to draft from for the next step. A drafter beside the device always has something.
func (l *loop) offer(a *active, s *sampled) {
	most := min(l.e.cfg.Sched.MaxDraft, abi.MaxDraft)
	if l.drafter != nil {
		s.available = most
		return
	}
	nmin, nmax := l.ngramSizes(l.job.plan.Spec)
	a.drafted = a.ngram.Draft(a.history, most, nmin, nmax, a.drafted[:0])
	s.hit, s.available = a.ngram.HitLength(), len(a.drafted)
}
