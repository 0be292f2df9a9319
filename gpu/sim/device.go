package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/gpu"
)

// Options of Open. The zero value computes at once.
type Options struct {
	// Wall is how much of the profile's step time Forward takes on the wall clock: 1 = all of it, 0 = none.
	Wall float64
	// KVTokens, MaxSeqs, MaxBatchTokens and ContextTokens override the profile's where they are positive.
	KVTokens, MaxSeqs, MaxBatchTokens, ContextTokens int
	// SpareSeqs, CopyMin, SharedKV and CanSave are as in gpu.Info. The zero value can neither copy nor save.
	SpareSeqs, CopyMin int
	SharedKV, CanSave  bool
	// Fault is asked before each Forward that is well formed, numbered from 1; its error is what Forward returns, and
	// nothing is computed. For tests of those who use a device.
	Fault func(step uint64, b *gpu.Batch) error
}

// Device is a gpu.Device that remembers every sequence's tokens and refuses what a real one would: positions with a gap,
// a sequence twice in a batch, more KV than there is, what its Info says it cannot do. Its logits are a pure function of the tokens before them.
type Device struct {
	profile Profile
	opt     Options
	info    gpu.Info

	seqs   []history
	cells  cells
	step   uint64
	rows   []row // of the last Forward
	starts []int // first row of each item; one more at the end
	logits []float32
	parts  []Part

	mu    sync.Mutex
	abort chan struct{} // of the Forward that sleeps; nil between
}

// history is a sequence's tokens as a chain of hashes, one a position, beside the tokens themselves, and where their KV is.
type history struct {
	tokens []gpu.Token
	hash   []uint64
	cell   []int32
}

// row is a kept row of logits: what it is a function of.
type row struct {
	hash  uint64
	last2 [2]gpu.Token
}

// Open returns a device. It never fails: a profile is valid by construction.
func Open(p Profile, o Options) *Device {
	pick := func(over, def int) int {
		if over > 0 {
			return over
		}
		return def
	}
	info := gpu.Info{
		Device: "sim", DeviceName: "simulated " + p.Device, Model: "sim:" + p.Name, VocabSize: VocabSize,
		KVTokens: pick(o.KVTokens, p.KVTokens), MaxSeqs: pick(o.MaxSeqs, p.MaxSeqs),
		MaxBatchTokens: pick(o.MaxBatchTokens, p.MaxBatchTokens),
		SpareSeqs:      o.SpareSeqs, CopyMin: o.CopyMin, SharedKV: o.SharedKV, CanSave: o.CanSave,
		Warnings: []string{"the device is simulated: what it answers is repeatable nonsense"},
	}
	info.ContextTokens = min(pick(o.ContextTokens, p.ContextTokens), info.KVTokens)
	return &Device{profile: p, opt: o, info: info, seqs: make([]history, info.MaxSeqs+info.SpareSeqs), logits: make([]float32, VocabSize)}
}

// Info says what the device can do.
func (d *Device) Info() gpu.Info { return d.info }

// Forward takes in the batch's tokens, all or none of them.
func (d *Device) Forward(b *gpu.Batch) error {
	d.rows, d.starts = d.rows[:0], d.starts[:0]
	add, err := d.check(b)
	if err != nil {
		return err
	}
	d.step++
	if d.opt.Fault != nil {
		if err := d.opt.Fault(d.step, b); err != nil {
			return err
		}
	}
	if err := d.room(add); err != nil {
		return err
	}
	if err := d.sleep(b); err != nil {
		return err
	}
	for i := range b.Items {
		d.compute(&b.Items[i])
	}
	d.starts = append(d.starts, len(d.rows))
	return nil
}

// room is ErrNoKV when there is none for n more tokens.
func (d *Device) room(n int) error {
	if d.cells.held+n > d.info.KVTokens {
		return fmt.Errorf("%w: %d held, %d more, %d in all", gpu.ErrNoKV, d.cells.held, n, d.info.KVTokens)
	}
	return nil
}

// check refuses a malformed batch and returns the KV tokens that it needs.
func (d *Device) check(b *gpu.Batch) (add int, err error) {
	refuse := func(it *gpu.Item, format string, args ...any) (int, error) {
		return 0, fmt.Errorf("%w: sequence %d: %s", gpu.ErrBatch, it.Seq, fmt.Sprintf(format, args...))
	}
	if b == nil || len(b.Items) == 0 {
		return 0, fmt.Errorf("%w: it is empty", gpu.ErrBatch)
	}
	seen := make([]bool, len(d.seqs))
	for i := range b.Items {
		it := &b.Items[i]
		switch {
		case it.Seq < 0 || it.Seq >= len(d.seqs):
			return refuse(it, "ids are 0 to %d", len(d.seqs)-1)
		case seen[it.Seq]:
			return refuse(it, "it stands in the batch twice")
		case len(it.Tokens) == 0:
			return refuse(it, "no tokens")
		case it.Pos != len(d.seqs[it.Seq].tokens):
			return refuse(it, "starts at position %d, but it holds %d tokens", it.Pos, len(d.seqs[it.Seq].tokens))
		case it.Pos+len(it.Tokens) > d.info.ContextTokens:
			return refuse(it, "%d tokens are more than the context of %d", it.Pos+len(it.Tokens), d.info.ContextTokens)
		case it.Logits < 0 || it.Logits > len(it.Tokens):
			return refuse(it, "logits of %d of %d tokens", it.Logits, len(it.Tokens))
		}
		seen[it.Seq] = true
		add += len(it.Tokens)
		for _, t := range it.Tokens {
			if t < 0 || int(t) >= VocabSize {
				return refuse(it, "token %d is not in the vocabulary of %d", t, VocabSize)
			}
		}
	}
	if len(b.Items) > d.info.MaxSeqs {
		return 0, fmt.Errorf("%w: %d sequences, at most %d", gpu.ErrBatch, len(b.Items), d.info.MaxSeqs)
	}
	if add > d.info.MaxBatchTokens {
		return 0, fmt.Errorf("%w: %d tokens, at most %d", gpu.ErrBatch, add, d.info.MaxBatchTokens)
	}
	return add, nil
}

func (d *Device) compute(it *gpu.Item) {
	h := &d.seqs[it.Seq]
	d.starts = append(d.starts, len(d.rows))
	for i, t := range it.Tokens {
		prev := uint64(0)
		if n := len(h.hash); n > 0 {
			prev = h.hash[n-1]
		}
		h.tokens = append(h.tokens, t)
		h.cell = append(h.cell, d.cells.take())
		h.hash = append(h.hash, mix(prev^uint64(t+1)*0x9e3779b97f4a7c15))
		if i >= len(it.Tokens)-it.Logits {
			d.rows = append(d.rows, rowAt(h))
		}
	}
}

// sleep spends the step's time, and reports ErrAborted when Abort came meanwhile.
func (d *Device) sleep(b *gpu.Batch) error {
	if d.opt.Wall <= 0 {
		return nil
	}
	d.parts = d.parts[:0]
	for i := range b.Items {
		it := &b.Items[i]
		d.parts = append(d.parts, Part{Context: it.Pos, New: len(it.Tokens), Logits: it.Logits})
	}
	abort := make(chan struct{})
	d.setAbort(abort)
	defer d.setAbort(nil)
	timer := time.NewTimer(time.Duration(float64(d.profile.StepNS(d.parts)) * d.opt.Wall))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-abort:
		return gpu.ErrAborted
	}
}

func (d *Device) setAbort(c chan struct{}) {
	d.mu.Lock()
	d.abort = c
	d.mu.Unlock()
}

// Abort makes a Forward that sleeps return ErrAborted. One that does not sleep is over before it could be aborted.
func (d *Device) Abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.abort != nil {
		close(d.abort)
		d.abort = nil
	}
}

// Logits computes the i-th kept row of the item-th item of the last Forward.
func (d *Device) Logits(item, i int) ([]float32, error) {
	if item < 0 || item+1 >= len(d.starts) || i < 0 || d.starts[item]+i >= d.starts[item+1] {
		return nil, fmt.Errorf("read logits: row %d of item %d was not kept by the last forward pass", i, item)
	}
	// One buffer for all rows of the step: each stays valid while the others are read.
	at := d.starts[item] + i
	if need := len(d.rows) * VocabSize; len(d.logits) < need {
		d.logits = make([]float32, need)
	}
	out := d.logits[at*VocabSize : (at+1)*VocabSize : (at+1)*VocabSize]
	d.rows[at].fill(out)
	return out, nil
}

// Trim forgets the positions of seq from pos on.
func (d *Device) Trim(seq, pos int) error {
	if seq < 0 || seq >= len(d.seqs) || pos < 0 {
		return fmt.Errorf("trim sequence %d at %d: ids are 0 to %d", seq, pos, len(d.seqs)-1)
	}
	h := &d.seqs[seq]
	if pos < len(h.tokens) {
		for _, c := range h.cell[pos:] {
			d.cells.drop(c)
		}
		h.tokens, h.hash, h.cell = h.tokens[:pos], h.hash[:pos], h.cell[:pos]
	}
	return nil
}

// Held is the number of KV tokens that all sequences hold, shared ones counted once. It belongs to the goroutine that calls Forward.
func (d *Device) Held() int { return d.cells.held }

// History is what a sequence holds, for tests. It is valid until the next Forward or Trim.
func (d *Device) History(seq int) []gpu.Token { return d.seqs[seq].tokens }

// Close does nothing.
func (d *Device) Close() error { return nil }

var _ gpu.Device = (*Device)(nil)
