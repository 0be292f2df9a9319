package llama

import (
	"fmt"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama/internal/hidden"
)

// head is what a drafter that reads the device's own hidden states has beside its context.
type head struct {
	fn     *hidden.Functions
	width  int // of a hidden row as the head takes it
	record *recorder
	encode *encoder // nil: the recorded rows are taken as they are
	zeros  []float32
}

// row is the hidden row of the device's position p; that of the position before the first one is zeros.
func (h *head) row(s *draftSeq, p int) []float32 {
	if p < 0 {
		return h.zeros
	}
	return s.rows[p*h.width : (p+1)*h.width]
}

// next copies the hidden row that came out beside the logits of a row: it goes with the draft that is read there.
func (h *head) next(s *side, row int, into []float32) ([]float32, error) {
	out := h.fn.State(s.handle, row, h.width)
	if out == nil {
		return nil, fmt.Errorf("hidden state of row %d: llama.cpp has none", row)
	}
	return append(into[:0], out...), nil
}

// Observe takes in the hidden rows of the tokens that stay. It must follow every Forward, also those after which nothing
// is drafted: a sequence with a gap has no drafts until it starts anew. A draft model needs none of it.
func (d *drafter) Observe(b *gpu.Batch, kept []int) error {
	d.dev.mu.Lock()
	defer d.dev.mu.Unlock()
	if err := d.dev.usable(); err != nil || d.head == nil {
		return err
	}
	if err := d.head.record.matches(b, kept); err != nil {
		return fmt.Errorf("observe: %w: %w", gpu.ErrBatch, err)
	}
	for i := range b.Items {
		it, s := &b.Items[i], &d.seqs[b.Items[i].Seq]
		if it.Pos == 0 {
			d.trim(it.Seq, 0)
		}
		if len(s.rows) != it.Pos*d.head.width {
			s.rows, s.lost = nil, true
		}
	}
	if err := d.observe(b, kept); err != nil {
		for i := range b.Items {
			d.seqs[b.Items[i].Seq] = draftSeq{lost: true}
		}
		return fmt.Errorf("observe: %w", err)
	}
	return nil
}

func (d *drafter) observe(b *gpu.Batch, kept []int) error {
	h := d.head
	if h.encode == nil {
		for i := range b.Items {
			if s := &d.seqs[b.Items[i].Seq]; !s.lost {
				s.rows = append(s.rows, h.record.item(i, kept[i])...)
			}
		}
		return nil
	}
	for i := range b.Items {
		s := &d.seqs[b.Items[i].Seq]
		if s.lost {
			continue
		}
		for rows := h.record.item(i, kept[i]); len(rows) > 0; rows = rows[h.record.width:] {
			if err := h.encode.put(s, rows[:h.record.width]); err != nil {
				return err
			}
		}
	}
	return h.encode.flush()
}
