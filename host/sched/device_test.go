package sched_test

import (
	"fmt"

	"github.com/sluice-dev/sluice/host/sched"
)

// holder is a device that only remembers how many tokens each sequence holds, and refuses what a real one would.
type holder struct {
	held  []int
	saved map[uint64]int
}

func newHolder(seqs int) *holder { return &holder{make([]int, seqs), map[uint64]int{}} }

func (h *holder) apply(op *sched.Op) error {
	if op.Kind != sched.OpForget && (op.Seq < 0 || op.Seq >= len(h.held)) {
		return fmt.Errorf("no sequence %d: %+v", op.Seq, *op)
	}
	switch op.Kind {
	case sched.OpTrim:
		h.held[op.Seq] = min(h.held[op.Seq], op.Tokens)
	case sched.OpCopy:
		if h.held[op.Seq] != 0 || op.Tokens > h.held[op.From] || op.Tokens < 1 {
			return fmt.Errorf("sequence %d holds %d tokens, %d holds %d: %+v", op.From, h.held[op.From], op.Seq, h.held[op.Seq], *op)
		}
		h.held[op.Seq] = op.Tokens
	case sched.OpSave:
		h.saved[op.ID] = h.held[op.Seq]
	case sched.OpRestore:
		n, ok := h.saved[op.ID]
		if !ok || h.held[op.Seq] != 0 {
			return fmt.Errorf("nothing was saved, or sequence %d holds %d tokens: %+v", op.Seq, h.held[op.Seq], *op)
		}
		h.held[op.Seq] = n
		if !op.Keep {
			delete(h.saved, op.ID)
		}
	case sched.OpForget:
		delete(h.saved, op.ID)
	}
	return nil
}

// forward computes a step, drafts included, and refuses a malformed one.
func (h *holder) forward(b *sched.Batch, cfg *sched.Config) error {
	for i := range b.Ops {
		if err := h.apply(&b.Ops[i]); err != nil {
			return err
		}
	}
	seen, tokens := map[int]bool{}, 0
	for i := range b.Rows {
		r := &b.Rows[i]
		switch {
		case r.Seq < 0 || r.Seq >= len(h.held) || seen[r.Seq]:
			return fmt.Errorf("row %d: sequence %d is not there, or twice", i, r.Seq)
		case h.held[r.Seq] != r.Start:
			return fmt.Errorf("row %d of request %d starts at %d, but sequence %d holds %d", i, r.Req.ID, r.Start, r.Seq, h.held[r.Seq])
		case r.Tokens < 1 || r.Draft < 0 || r.Draft > cfg.MaxDraft || r.Draft > 0 && !r.Sample:
			return fmt.Errorf("row %d is malformed: %+v", i, *r)
		case r.Start+r.Tokens+r.Draft > cfg.ContextTokens:
			return fmt.Errorf("row %d goes beyond the context: %+v", i, *r)
		}
		seen[r.Seq] = true
		tokens += r.Tokens + r.Draft
	}
	if len(b.Rows) == 0 || len(b.Rows) > cfg.MaxSeqs || tokens > cfg.MaxBatchTokens {
		return fmt.Errorf("a step of %d rows and %d tokens, the limits are %d and %d", len(b.Rows), tokens, cfg.MaxSeqs, cfg.MaxBatchTokens)
	}
	return nil
}

// done is what a sequence holds after a row: its tokens, and the drafts that were accepted.
func (h *holder) done(r *sched.Row, res sched.Result) {
	h.held[r.Seq] = r.Start + r.Tokens
	if r.Sample && res.Emitted > 0 {
		h.held[r.Seq] += res.Emitted - 1
	}
}
