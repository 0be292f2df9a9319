package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// cells counts who holds the KV of a token: with SharedKV more than one sequence may.
type cells struct {
	refs []int32
	free []int32
	held int // cells with refs > 0
}

func (c *cells) take() int32 {
	c.held++
	if n := len(c.free); n > 0 {
		i := c.free[n-1]
		c.free = c.free[:n-1]
		c.refs[i] = 1
		return i
	}
	c.refs = append(c.refs, 1)
	return int32(len(c.refs) - 1)
}

func (c *cells) drop(i int32) {
	if c.refs[i]--; c.refs[i] == 0 {
		c.free = append(c.free, i)
		c.held--
	}
}

// Copy makes to hold the first n positions of from. With SharedKV both hold the same KV.
func (d *Device) Copy(from, to, n int) error {
	if err := d.checkCopy(from, to, n); err != nil {
		return err
	}
	src, dst := &d.seqs[from], &d.seqs[to]
	dst.tokens, dst.hash = append(dst.tokens[:0], src.tokens[:n]...), append(dst.hash[:0], src.hash[:n]...)
	for _, c := range src.cell[:n] {
		if d.info.SharedKV {
			d.cells.refs[c]++
		} else {
			c = d.cells.take()
		}
		dst.cell = append(dst.cell, c)
	}
	return nil
}

func (d *Device) checkCopy(from, to, n int) error {
	switch {
	case d.info.CopyMin == 0:
		return fmt.Errorf("copy sequence %d to %d: %w", from, to, gpu.ErrUnsupported)
	case from < 0 || from >= len(d.seqs) || to < 0 || to >= len(d.seqs) || from == to:
		return fmt.Errorf("copy sequence %d to %d: sequences are 0..%d", from, to, len(d.seqs)-1)
	case len(d.seqs[to].tokens) != 0:
		return fmt.Errorf("copy sequence %d to %d: the latter is not empty", from, to)
	case n < 1 || n > len(d.seqs[from].tokens):
		return fmt.Errorf("copy %d tokens of sequence %d, which holds %d", n, from, len(d.seqs[from].tokens))
	case d.info.SharedKV:
		return nil
	}
	return d.room(n)
}

// kept is what Save puts into gpu.Saved.State.
type kept struct {
	by *Device
	history
}

// Save keeps what seq holds.
func (d *Device) Save(seq int) (*gpu.Saved, error) {
	switch {
	case !d.info.CanSave:
		return nil, fmt.Errorf("save sequence %d: %w", seq, gpu.ErrUnsupported)
	case seq < 0 || seq >= len(d.seqs) || len(d.seqs[seq].tokens) == 0:
		return nil, fmt.Errorf("save sequence %d: it holds nothing", seq)
	}
	h := &d.seqs[seq]
	return &gpu.Saved{Tokens: len(h.tokens), State: kept{d, history{tokens: slices.Clone(h.tokens), hash: slices.Clone(h.hash)}}}, nil
}

// Restore makes seq hold what was saved, in KV of its own.
func (d *Device) Restore(seq int, s *gpu.Saved) error {
	switch {
	case !d.info.CanSave:
		return fmt.Errorf("restore sequence %d: %w", seq, gpu.ErrUnsupported)
	case seq < 0 || seq >= len(d.seqs) || len(d.seqs[seq].tokens) != 0:
		return fmt.Errorf("restore sequence %d: it is not there, or not empty", seq)
	case s == nil:
		return fmt.Errorf("restore sequence %d: nothing was saved", seq)
	}
	from, ok := s.State.(kept)
	if !ok || from.by != d {
		return fmt.Errorf("restore sequence %d: what was saved is another device's", seq)
	}
	if err := d.room(len(from.tokens)); err != nil {
		return err
	}
	h := history{tokens: slices.Clone(from.tokens), hash: slices.Clone(from.hash)}
	for range h.tokens {
		h.cell = append(h.cell, d.cells.take())
	}
	d.seqs[seq] = h
	return nil
}
