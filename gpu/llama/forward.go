package llama

import (
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/gpu"
)

// Results of llama_decode.
const (
	decodeOK      = 0
	decodeNoKV    = 1
	decodeAborted = 2
	decodeRefused = -1
)

// Forward computes the batch. After an error that wraps gpu.ErrBatch, gpu.ErrNoKV or gpu.ErrAborted the KV cache holds what it
// held before the call, and no logits; the one exception are models whose memory cannot be cut back, which then forget the
// batch's sequences as a whole. Any other error is the library's own failure, such as a GPU out of memory: it wraps gpu.ErrLost,
// as does every further call until Reset.
func (d *Device) Forward(b *gpu.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	d.rows, d.kept = d.rows[:0], d.kept[:0]
	if err := d.check(b); err != nil {
		return err
	}
	d.abort.begin()
	rc, err := d.compute(b)
	d.abort.end()
	if err == nil && rc == decodeOK {
		for i := range b.Items {
			d.kv.grow(b.Items[i].Seq, len(b.Items[i].Tokens))
		}
		return nil
	}
	d.rows, d.kept = d.rows[:0], d.kept[:0]
	if r := d.recorder(); r != nil {
		r.forget()
	}
	if err == nil {
		err = decodeError(rc)
	} else {
		err = lost(err)
	}
	if errors.Is(err, gpu.ErrLost) {
		d.broken = err
		return err
	}
	d.rollBack(b)
	return err
}

func lost(err error) error { return fmt.Errorf("%w: compute batch: %w", gpu.ErrLost, err) }

func decodeError(rc int32) error {
	switch rc {
	case decodeNoKV:
		return gpu.ErrNoKV
	case decodeAborted:
		return gpu.ErrAborted
	case decodeRefused:
		return fmt.Errorf("%w: llama.cpp refused it", gpu.ErrBatch)
	}
	return lost(fmt.Errorf("llama.cpp failed with code %d", rc))
}

// rollBack takes out what was computed of a batch that failed: its parts before the one that failed are in the cache.
func (d *Device) rollBack(b *gpu.Batch) {
	for i := range b.Items {
		it := &b.Items[i]
		if d.cut(it.Seq, it.Pos) != nil {
			_ = d.cut(it.Seq, 0) // dropping a whole sequence never fails
		}
	}
}
