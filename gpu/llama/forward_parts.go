package llama

import (
	"fmt"
	"slices"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// compute runs a checked batch as one decode, or as several where a draft head needs it: with split KV llama.cpp reorders
// the rows of a batch, and puts the hidden states back in order only when every row is flagged as an output. So there an
// item that is not flagged throughout is computed by itself, and its logits are copied; the others share the last decode.
func (d *Device) compute(b *gpu.Batch) (rc int32, err error) {
	n := len(b.Items)
	d.rows, d.kept = slices.Grow(d.rows[:0], n)[:n], slices.Grow(d.kept[:0], n)[:n]
	d.apart = slices.Grow(d.apart[:0], n)[:n]
	clear(d.apart)
	d.batch.c.NTokens = 0
	r := d.recorder()
	if r != nil {
		r.begin(b)
	}
	done := 0 // rows of earlier decodes
	apart := func(it *gpu.Item) bool {
		return r != nil && n > 1 && d.ctx.opts.KVLayout == LayoutSplit && it.Logits < len(it.Tokens)
	}
	for i := range b.Items {
		it := &b.Items[i]
		if !apart(it) {
			continue
		}
		d.fillItem(i, it)
		if rc, err = d.computePart(r, done); err != nil || rc != decodeOK {
			return rc, err
		}
		if d.apart[i], err = d.copyLogits(len(it.Tokens)-it.Logits, it.Logits); err != nil {
			return rc, err
		}
		r.items[i].first = done
		done += len(it.Tokens)
		d.batch.c.NTokens = 0
	}
	for i := range b.Items {
		if it := &b.Items[i]; !apart(it) {
			if r != nil {
				r.items[i].first = done + int(d.batch.c.NTokens)
			}
			d.fillItem(i, it)
		}
	}
	if d.batch.c.NTokens == 0 {
		return rc, err
	}
	return d.computePart(r, done)
}

// computePart runs what is in the batch and records its hidden states from row first on.
func (d *Device) computePart(r *recorder, first int) (rc int32, err error) {
	rc, err = d.decode(d.ctx.Handle, d.batch.c)
	if err == nil && rc == decodeOK && d.ctx.device.GPU {
		err = capi.Synchronize(d.ctx.Handle) // llama_decode has only queued the work
	}
	if err == nil && rc == decodeOK && r != nil {
		r.take(d.ctx.Handle, first, int(d.batch.c.NTokens))
	}
	return rc, err
}

// copyLogits copies n rows of the decode that just ended out of the library's memory.
func (d *Device) copyLogits(first, n int) ([]float32, error) {
	var out []float32
	for i := range n {
		row, err := capi.GetLogitsIth(d.ctx.Handle, int32(first+i), d.info.VocabSize)
		if err != nil || row == nil {
			return nil, fmt.Errorf("logits of row %d: llama.cpp has none", first+i)
		}
		out = append(out, row...)
	}
	return out, nil
}

// recorder is nil when nothing reads the model's hidden states.
func (d *Device) recorder() *recorder {
	if d.draft == nil || d.draft.head == nil {
		return nil
	}
	return d.draft.head.record
}
