package llama

import (
	"fmt"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// copyMinShared and copyMinSplit are gpu.Info.CopyMin of the two layouts. A unified cache notes that two sequences have the same
// cells, which costs microseconds: one KV block is worth it. A split one moves what the source holds through memory, some 4 us a
// token of a 135M model where computing one takes 700, but all of the source and not only the prefix.
const (
	copyMinShared = 16
	copyMinSplit  = 64
)

// Copy makes to, which must be empty, hold the first n positions of from. It wraps gpu.ErrUnsupported where Info.CopyMin is 0,
// and gpu.ErrNoKV when the cells are not there.
func (d *Device) Copy(from, to, n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if err := d.checkCopy(from, to, n); err != nil {
		return fmt.Errorf("copy sequence %d to %d: %w", from, to, err)
	}
	if d.info.SharedKV {
		if err := capi.MemorySeqCp(d.ctx.Memory, capi.SeqId(from), capi.SeqId(to), 0, capi.Pos(n)); err != nil {
			return fmt.Errorf("copy sequence %d to %d: %w", from, to, err)
		}
		d.kv.share(from, to, n)
	} else if err := d.copyThrough(from, to, n); err != nil {
		return fmt.Errorf("copy sequence %d to %d: %w", from, to, err)
	}
	d.copyDraft(from, to, n)
	return nil
}

func (d *Device) checkCopy(from, to, n int) error {
	if d.info.CopyMin == 0 {
		return gpu.ErrUnsupported
	}
	for _, seq := range []int{from, to} {
		if err := d.checkSeq(seq); err != nil {
			return err
		}
	}
	switch {
	case from == to:
		return fmt.Errorf("it is the same sequence")
	case d.kv.length(to) != 0:
		return fmt.Errorf("the latter holds %d tokens", d.kv.length(to))
	case n < 1 || n > d.kv.length(from):
		return fmt.Errorf("%d tokens are not 1..%d, which the former holds", n, d.kv.length(from))
	case !d.info.SharedKV:
		return d.checkRoom(n)
	}
	return nil
}

// copyThrough copies the whole of from by way of memory and drops the tail. llama.cpp's own copy between the parts of a cache
// moves the whole part at the next step, at several times the cost, and is not seen by a save before that.
func (d *Device) copyThrough(from, to, n int) error {
	state, err := d.readState(from, d.spare.take)
	if err != nil {
		return err
	}
	defer d.spare.give(state)
	if err := d.writeState(to, state, d.kv.length(from)); err != nil {
		return err
	}
	return d.cut(to, n)
}
