package llama

import (
	"fmt"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama/internal/hidden"
)

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
