package llama

import (
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

// Forward computes the batch. After an error the KV cache holds what it held before the call, and no logits; the one
// exception are models whose memory cannot be cut back, which then forget the batch's sequences as a whole. Errors wrap
// gpu.ErrBatch, gpu.ErrNoKV or gpu.ErrAborted; any other one is the library's own failure, such as a GPU out of memory.
func (d *Device) Forward(b *gpu.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
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
			d.setLength(b.Items[i].Seq, b.Items[i].Pos+len(b.Items[i].Tokens))
		}
		return nil
	}
	d.rows, d.kept = d.rows[:0], d.kept[:0]
	if r := d.recorder(); r != nil {
		r.forget()
	}
	d.rollBack(b)
	if err != nil {
		return fmt.Errorf("compute batch: %w", err)
	}
	return decodeError(rc)
}

func decodeError(rc int32) error {
	switch rc {
	case decodeNoKV:
		return gpu.ErrNoKV
	case decodeAborted:
		return gpu.ErrAborted
	case decodeRefused:
		return fmt.Errorf("%w: llama.cpp refused it", gpu.ErrBatch)
	}
	return fmt.Errorf("compute batch: llama.cpp failed with code %d", rc)
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
