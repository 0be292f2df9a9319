package llama

import (
	"fmt"
	"unsafe"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// batch is a llama_batch whose C arrays are seen as Go slices: what is written here is what llama.cpp reads.
type batch struct {
	c     capi.Batch
	token []capi.Token
	pos   []capi.Pos
	seq   []*capi.SeqId
	out   []int8
	seen  []bool // scratch of check: sequences met
}

func newBatch(tokens int) *batch {
	n := int32(tokens)
	b := &batch{c: capi.BatchInit(n, 0, 1)}
	b.token, b.pos = unsafe.Slice(b.c.Token, n), unsafe.Slice(b.c.Pos, n)
	b.seq, b.out = unsafe.Slice(b.c.SeqId, n), unsafe.Slice(b.c.Logits, n)
	for i := range unsafe.Slice(b.c.NSeqId, n) {
		unsafe.Slice(b.c.NSeqId, n)[i] = 1
	}
	return b
}

func (b *batch) free() {
	_ = capi.BatchFree(b.c)
	*b = batch{}
}

// put appends a row. The caller has checked that there is room and that every value is in range.
func (b *batch) put(t gpu.Token, pos, seq int, keep bool) {
	i := b.c.NTokens
	b.token[i], b.pos[i], *b.seq[i], b.out[i] = capi.Token(t), capi.Pos(pos), capi.SeqId(seq), 0
	if keep {
		b.out[i] = 1
	}
	b.c.NTokens++
}

// check refuses every batch that llama.cpp would answer with abort(), with a wild read, or with wrong results and no
// error. It changes nothing.
func (d *Device) check(b *gpu.Batch) error {
	if b == nil || len(b.Items) == 0 {
		return fmt.Errorf("%w: it is empty", gpu.ErrBatch)
	}
	if len(d.batch.seen) < len(d.kv.seqs) {
		d.batch.seen = make([]bool, len(d.kv.seqs))
	}
	if len(b.Items) > d.info.MaxSeqs {
		return fmt.Errorf("%w: %d sequences, at most %d", gpu.ErrBatch, len(b.Items), d.info.MaxSeqs)
	}
	clear(d.batch.seen)
	total := 0
	for i := range b.Items {
		if err := d.checkItem(&b.Items[i]); err != nil {
			return fmt.Errorf("%w: item %d: %w", gpu.ErrBatch, i, err)
		}
		total += len(b.Items[i].Tokens)
	}
	if total > d.info.MaxBatchTokens {
		return fmt.Errorf("%w: %d tokens, at most %d", gpu.ErrBatch, total, d.info.MaxBatchTokens)
	}
	return d.checkRoom(total)
}

func (d *Device) checkRoom(tokens int) error {
	if !d.kv.fits(tokens) {
		return fmt.Errorf("%w: %d cells are used, %d more are needed, there are %d", gpu.ErrNoKV, d.kv.used(), tokens, d.info.KVTokens)
	}
	return nil
}

func (d *Device) checkItem(it *gpu.Item) error {
	if err := d.checkSeq(it.Seq); err != nil {
		return err
	}
	n, held := len(it.Tokens), d.kv.length(it.Seq)
	switch {
	case d.batch.seen[it.Seq]:
		return fmt.Errorf("sequence %d stands in the batch twice", it.Seq)
	case n == 0 || n > d.info.MaxBatchTokens:
		return fmt.Errorf("%d tokens are not 1..%d", n, d.info.MaxBatchTokens)
	case it.Pos != held:
		return fmt.Errorf("sequence %d holds %d tokens, so the next position is not %d", it.Seq, held, it.Pos)
	case it.Pos+n > d.info.ContextTokens:
		return fmt.Errorf("sequence %d would be %d tokens long, at most %d", it.Seq, it.Pos+n, d.info.ContextTokens)
	case it.Logits < 0 || it.Logits > n:
		return fmt.Errorf("%d rows of logits are asked for, of %d tokens", it.Logits, n)
	}
	for _, t := range it.Tokens {
		if t < 0 || int(t) >= d.info.VocabSize {
			return fmt.Errorf("token %d is not in the vocabulary of %d", t, d.info.VocabSize)
		}
	}
	d.batch.seen[it.Seq] = true
	return nil
}

// fillItem appends the i-th item of a checked batch for llama.cpp and notes where its kept rows begin.
func (d *Device) fillItem(i int, it *gpu.Item) {
	first := len(it.Tokens) - it.Logits
	d.rows[i], d.kept[i] = int(d.batch.c.NTokens)+first, it.Logits
	for j, t := range it.Tokens {
		d.batch.put(t, it.Pos+j, it.Seq, j >= first)
	}
}
