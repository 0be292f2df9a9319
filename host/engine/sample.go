package engine

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
)

// sampled is what became of one row: the tokens drawn from its logits, and the text behind them.
type sampled struct {
	rows    [][]float32 // logits: of the last known token, then of each draft
	emitted int
	done    sched.Outcome
	text    string
	err     error
}

// sampleRows draws the tokens of all rows of b that sample. Drawing at a temperature reads a whole vocabulary several times, so
// the rows are spread over the CPUs, which have nothing else to do between two steps. Each draw is a pure function of its
// own request, so the order does not matter. The device is only touched from this goroutine.
func (l *loop) sampleRows(b *sched.Batch) {
	for len(l.sampled) < len(b.Rows) {
		l.sampled = append(l.sampled, sampled{})
	}
	todo := l.todo[:0]
	costly := 0
	for i := range b.Rows {
		s := &l.sampled[i]
		*s = sampled{rows: s.rows[:0]}
		if !b.Rows[i].Sample {
			continue
		}
		if s.err = l.readLogits(s, i); s.err == nil {
			todo = append(todo, i)
		}
		if l.live[b.Rows[i].Req.ID].req.Sampling.Temperature > 0 {
			costly++
		}
	}
	l.todo = todo
	if costly < 2 {
		for _, i := range todo {
			l.sampleRow(b, i)
		}
	} else {
		l.sampleInParallel(b, todo)
	}
	for _, i := range todo {
		l.dropRejected(b, i)
	}
}

func (l *loop) sampleInParallel(b *sched.Batch, todo []int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(todo)); i = next.Add(1) - 1 {
				l.sampleRow(b, todo[i])
			}
		})
	}
	wg.Wait()
}

func (l *loop) readLogits(s *sampled, item int) error {
	for i := range 1 + len(l.drafts[item]) {
		row, err := l.e.cfg.Device.Logits(item, i)
		if err != nil {
			return fmt.Errorf("read logits: %w", err)
		}
		s.rows = append(s.rows, row)
	}
	return nil
}

// sampleRow draws and verifies. It touches nothing but the row's own request.
func (l *loop) sampleRow(b *sched.Batch, i int) {
	s, a := &l.sampled[i], l.live[b.Rows[i].Req.ID]
	from := len(a.history)
	logits := func(i int) ([]float32, error) { return s.rows[i], nil }
	if _, s.err = spec.Verify(a.sampler, logits, spec.Draft{Tokens: l.drafts[i]}, from-len(a.req.Prompt), &a.history); s.err != nil {
		return
	}
	s.emitted, s.done, s.text = a.take(l.e.cfg.Tokenizer, from)
}

// dropRejected makes the device forget the drafts that were not accepted.
func (l *loop) dropRejected(b *sched.Batch, i int) {
	s, row := &l.sampled[i], &b.Rows[i]
	if keep := s.emitted - 1; s.err == nil && keep < len(l.drafts[i]) {
		if err := l.e.cfg.Device.Trim(row.Seq, row.Start+row.Tokens+keep); err != nil {
			s.err = fmt.Errorf("drop rejected drafts: %w", err)
		}
	}
}
