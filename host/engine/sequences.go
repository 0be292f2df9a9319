package engine

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
)

// sequences is the device's KV cache with a record of which tokens each of its sequences holds. Before a request runs on KV
// that it did not compute itself, the record is compared with its own tokens: neither a hash that collides nor a failure of the
// device can make it go on from another text.
//
// It belongs to whichever goroutine has the step: the device's while one is computed, the loop's between two.
type sequences struct {
	dev   gpu.Device
	seqs  []sequence
	saved map[uint64]kept // of preempted requests, and prefixes
	bytes int64           // of saved
}

type sequence struct {
	tokens []gpu.Token // what it holds; the memory is a request's history
	owner  uint64      // the request that was found to agree with tokens; 0 = none yet
	dirty  bool        // nobody knows what it holds: it must be emptied
}

type kept struct {
	*gpu.Saved
	tokens []gpu.Token
}

func newSequences(dev gpu.Device) sequences {
	info := dev.Info()
	return sequences{dev: dev, seqs: make([]sequence, info.MaxSeqs+info.SpareSeqs), saved: map[uint64]kept{}}
}

// apply does what the scheduler wants. An error costs whoever needs the result its KV and nobody else: ready tells.
func (q *sequences) apply(op *sched.Op) (err error) {
	switch op.Kind {
	case sched.OpTrim:
		return q.trim(op.Seq, op.Tokens)
	case sched.OpCopy:
		err = q.copy(op)
	case sched.OpSave:
		err = q.save(op)
	case sched.OpRestore:
		err = q.restore(op)
	case sched.OpForget:
		q.forget(op.ID)
	}
	return err
}

// trim makes a sequence n tokens long at most. A memory that cannot be cut back is emptied.
func (q *sequences) trim(seq, n int) error {
	s := &q.seqs[seq]
	err := q.dev.Trim(seq, n)
	if err != nil && n > 0 {
		n, err = 0, q.dev.Trim(seq, 0)
	}
	if err != nil {
		*s = sequence{dirty: true}
		return fmt.Errorf("trim sequence %d: %w", seq, err)
	}
	if n < len(s.tokens) {
		s.tokens = s.tokens[:n:n]
	}
	if n == 0 {
		*s = sequence{}
	}
	return nil
}

func (q *sequences) copy(op *sched.Op) error {
	from := q.seqs[op.From].tokens
	if len(from) < op.Tokens {
		return fmt.Errorf("copy %d tokens of sequence %d: it holds %d", op.Tokens, op.From, len(from))
	}
	if err := q.dev.Copy(op.From, op.Seq, op.Tokens); err != nil {
		_ = q.trim(op.Seq, 0)
		return fmt.Errorf("copy %d tokens of sequence %d to %d: %w", op.Tokens, op.From, op.Seq, err)
	}
	q.seqs[op.Seq] = sequence{tokens: from[:op.Tokens:op.Tokens]}
	return nil
}

func (q *sequences) save(op *sched.Op) error {
	q.forget(op.ID)
	if q.seqs[op.Seq].dirty {
		return fmt.Errorf("save sequence %d: nobody knows what it holds", op.Seq)
	}
	s, err := q.dev.Save(op.Seq)
	if err != nil {
		return fmt.Errorf("save sequence %d: %w", op.Seq, err)
	}
	q.saved[op.ID] = kept{Saved: s, tokens: q.seqs[op.Seq].tokens}
	q.bytes += int64(len(s.Data))
	return nil
}

func (q *sequences) restore(op *sched.Op) error {
	k, ok := q.saved[op.ID]
	if !ok {
		return fmt.Errorf("restore sequence %d: nothing was saved", op.Seq)
	}
	if !op.Keep {
		defer q.forget(op.ID)
	}
	if err := q.dev.Restore(op.Seq, k.Saved); err != nil {
		_ = q.trim(op.Seq, 0)
		return fmt.Errorf("restore sequence %d: %w", op.Seq, err)
	}
	q.seqs[op.Seq] = sequence{tokens: k.tokens}
	return nil
}

func (q *sequences) forget(id uint64) {
	k, ok := q.saved[id]
	if !ok {
		return
	}
	q.bytes -= int64(len(k.Data))
	delete(q.saved, id)
	if r, ok := q.dev.(gpu.Recycler); ok {
		r.Recycle(k.Saved)
	}
}

// ready reports whether the row's sequence holds exactly the first row.Start tokens of history.
func (q *sequences) ready(row *sched.Row, id uint64, history []gpu.Token) bool {
	s := &q.seqs[row.Seq]
	if s.dirty && q.trim(row.Seq, 0) != nil {
		return false
	}
	if len(s.tokens) > row.Start && q.trim(row.Seq, row.Start) != nil {
		return false
	}
	if len(s.tokens) != row.Start {
		return false
	}
	if s.owner != id && !slices.Equal(s.tokens, history[:row.Start]) {
		return false
	}
	s.owner = id
	return true
}

// holds notes that the sequence was computed up to tokens.
func (q *sequences) holds(seq int, tokens []gpu.Token) {
	q.seqs[seq].tokens = tokens[:len(tokens):len(tokens)]
}

// doubt notes that nobody knows what the sequence holds.
func (q *sequences) doubt(seq int) { q.seqs[seq] = sequence{dirty: true} }

// clear notes that the device holds nothing any more. Nobody asks for what was saved before either.
func (q *sequences) clear() {
	clear(q.seqs)
	clear(q.saved)
	q.bytes = 0
}
