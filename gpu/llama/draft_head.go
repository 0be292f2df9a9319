package llama

import (
	"fmt"
	"unsafe"

	capi "github.com/hybridgroup/yzma/pkg/llama"

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
	if d.head == nil {
		return nil
	}
	d.dev.mu.Lock()
	defer d.dev.mu.Unlock()
	if err := d.dev.usable(); err != nil {
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

// recorder keeps the hidden states of all rows of the device's last Forward, because what they are read from is reused.
type recorder struct {
	fn     *hidden.Functions
	layers []int32 // whose inputs, side by side, are a row; none = the last hidden state
	part   int     // values that one layer gives
	width  int     // values of a row
	rows   []float32
	items  []recorded

	missing bool // llama.cpp gave none
}

// recorded is one item of the last Forward.
type recorded struct {
	seq, pos, tokens int
	first            int // row
}

// begin prepares for the rows of a batch.
func (r *recorder) begin(b *gpu.Batch) {
	r.items, r.missing = r.items[:0], false
	n := 0
	for i := range b.Items {
		it := &b.Items[i]
		r.items = append(r.items, recorded{it.Seq, it.Pos, len(it.Tokens), n})
		n += len(it.Tokens)
	}
	if n*r.width > cap(r.rows) {
		r.rows = make([]float32, n*r.width)
	}
	r.rows = r.rows[:n*r.width]
}

// forget is for a Forward that failed.
func (r *recorder) forget() { r.items = r.items[:0] }

// take copies n rows of the decode that just ended to row first on. That there are none is Observe's error: the device
// itself has computed what it should.
func (r *recorder) take(ctx capi.Context, first, n int) {
	if len(r.layers) == 0 {
		states := r.fn.States(ctx, n*r.part)
		copy(r.rows[first*r.width:], states)
		r.missing = r.missing || states == nil
	}
	for k, layer := range r.layers {
		in := r.fn.Layer(ctx, int(layer), n*r.part)
		r.missing = r.missing || in == nil
		for i := 0; i < n && in != nil; i++ {
			copy(r.rows[(first+i)*r.width+k*r.part:], in[i*r.part:(i+1)*r.part])
		}
	}
}

// item is the first n rows of an item.
func (r *recorder) item(i, n int) []float32 {
	first := r.items[i].first
	return r.rows[first*r.width : (first+n)*r.width]
}

// matches refuses a batch that is not the one whose rows are there.
func (r *recorder) matches(b *gpu.Batch, kept []int) error {
	if b == nil || len(b.Items) != len(r.items) || len(kept) != len(r.items) {
		return fmt.Errorf("it is not the last batch")
	}
	if r.missing {
		return fmt.Errorf("llama.cpp has no hidden states of the last batch")
	}
	for i := range b.Items {
		it, was := &b.Items[i], &r.items[i]
		if it.Seq != was.seq || it.Pos != was.pos || len(it.Tokens) != was.tokens {
			return fmt.Errorf("item %d is not that of the last batch", i)
		}
		if kept[i] < 0 || kept[i] > was.tokens {
			return fmt.Errorf("%d tokens of item %d are said to stay, of %d", kept[i], i, was.tokens)
		}
	}
	return nil
}

// encoder turns recorded rows into hidden rows with the head's own first layer. Rows of all sequences share its batch.
type encoder struct {
	fn   *hidden.Functions
	side *side
	out  int // width of a hidden row
	c    capi.Batch
	in   []float32 // C memory, beside no tokens, positions or sequences
	into []*draftSeq
}

func newEncoder(fn *hidden.Functions, s *side, in, out int) *encoder {
	e := &encoder{fn: fn, side: s, out: out}
	n, one := uint64(s.size*in), uint64(4)
	lib.fn.calloc.Call(&e.c.Embd, &n, &one)
	e.in = unsafe.Slice(e.c.Embd, n)
	return e
}

func (e *encoder) put(s *draftSeq, row []float32) error {
	if len(e.into) == e.side.size {
		if err := e.flush(); err != nil {
			return err
		}
	}
	copy(e.in[len(e.into)*len(row):], row)
	e.into = append(e.into, s)
	return nil
}

func (e *encoder) flush() error {
	n := len(e.into)
	if n == 0 {
		return nil
	}
	e.c.NTokens = int32(n)
	rc, err := capi.Encode(e.side.handle, e.c)
	if err == nil {
		err = sideError(rc)
	}
	into := e.into
	e.into = e.into[:0]
	if err != nil {
		return fmt.Errorf("encode hidden states: %w", err)
	}
	rows := e.fn.States(e.side.handle, n*e.out)
	if rows == nil {
		return fmt.Errorf("encode hidden states: llama.cpp has none")
	}
	for i, s := range into {
		s.rows = append(s.rows, rows[i*e.out:(i+1)*e.out]...)
	}
	return nil
}

func (e *encoder) close() {
	if e.c.Embd != nil {
		lib.fn.free.Call(nil, &e.c.Embd)
		e.c.Embd, e.in = nil, nil
	}
}
