package sim

import (
	"fmt"
	"slices"
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
	// Fault is asked before each Forward that is well formed, numbered from 1; its error is what Forward returns, and
	// nothing is computed. For tests of those who use a device.
	Fault func(step uint64, b *gpu.Batch) error
}

// Device is a gpu.Device that remembers every sequence's tokens and refuses what a real one would: positions with a gap,
// a sequence twice in a batch, more KV than there is. Its logits are a pure function of the tokens before them.
type Device struct {
	profile Profile
	opt     Options
	info    gpu.Info

	seqs   []history
	held   int // KV tokens of all sequences
	step   uint64
	rows   []row // of the last Forward
	starts []int // first row of each item; one more at the end
	logits []float32
	parts  []Part

	mu    sync.Mutex
	abort chan struct{} // of the Forward that sleeps; nil between
}

// history is a sequence's tokens as a chain of hashes, one a position, beside the tokens themselves.
type history struct {
	tokens []gpu.Token
	hash   []uint64
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
		Warnings:       []string{"the device is simulated: what it answers is repeatable nonsense"},
	}
	info.ContextTokens = min(pick(o.ContextTokens, p.ContextTokens), info.KVTokens)
	return &Device{profile: p, opt: o, info: info, seqs: make([]history, info.MaxSeqs), logits: make([]float32, VocabSize)}
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
	if d.held+add > d.info.KVTokens {
		return fmt.Errorf("%w: %d held, %d more, %d in all", gpu.ErrNoKV, d.held, add, d.info.KVTokens)
	}
	if err := d.sleep(b); err != nil {
		return err
	}
	d.held += add
	for i := range b.Items {
		d.compute(&b.Items[i])
	}
	d.starts = append(d.starts, len(d.rows))
	return nil
}

// check refuses a malformed batch and returns the KV tokens that it needs.
func (d *Device) check(b *gpu.Batch) (add int, err error) {
	refuse := func(it *gpu.Item, format string, args ...any) (int, error) {
		return 0, fmt.Errorf("%w: sequence %d: %s", gpu.ErrBatch, it.Seq, fmt.Sprintf(format, args...))
	}
	if len(b.Items) == 0 {
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
		d.held -= len(h.tokens) - pos
		h.tokens, h.hash = h.tokens[:pos], h.hash[:pos]
	}
	return nil
}

// Held is the number of KV tokens that all sequences hold. It belongs to the goroutine that calls Forward.
func (d *Device) Held() int { return d.held }

// History is what a sequence holds, for tests. It is valid until the next Forward or Trim.
func (d *Device) History(seq int) []gpu.Token { return d.seqs[seq].tokens }

// Close does nothing.
func (d *Device) Close() error { return nil }

// Copy makes to hold the first n positions of from.
func (d *Device) Copy(from, to, n int) error {
	if err := d.checkCopy(from, to, n); err != nil {
		return err
	}
	src, dst := &d.seqs[from], &d.seqs[to]
	dst.tokens, dst.hash = append(dst.tokens[:0], src.tokens[:n]...), append(dst.hash[:0], src.hash[:n]...)
	d.held += n
	return nil
}

func (d *Device) checkCopy(from, to, n int) error {
	switch {
	case from < 0 || from >= len(d.seqs) || to < 0 || to >= len(d.seqs) || from == to:
		return fmt.Errorf("copy sequence %d to %d: sequences are 0..%d", from, to, len(d.seqs)-1)
	case len(d.seqs[to].tokens) != 0:
		return fmt.Errorf("copy sequence %d to %d: the latter is not empty", from, to)
	case n < 1 || n > len(d.seqs[from].tokens):
		return fmt.Errorf("copy %d tokens of sequence %d, which holds %d", n, from, len(d.seqs[from].tokens))
	}
	return nil
}

// Save keeps what seq holds.
func (d *Device) Save(seq int) (*gpu.Saved, error) {
	if seq < 0 || seq >= len(d.seqs) || len(d.seqs[seq].tokens) == 0 {
		return nil, fmt.Errorf("save sequence %d: it holds nothing", seq)
	}
	h := &d.seqs[seq]
	kept := history{tokens: slices.Clone(h.tokens), hash: slices.Clone(h.hash)}
	return &gpu.Saved{Tokens: len(kept.tokens), State: kept}, nil
}

// Restore makes seq hold what was saved.
func (d *Device) Restore(seq int, s *gpu.Saved) error {
	if s == nil {
		return fmt.Errorf("restore sequence %d: nothing was saved", seq)
	}
	kept, ok := s.State.(history)
	if !ok || seq < 0 || seq >= len(d.seqs) || len(d.seqs[seq].tokens) != 0 {
		return fmt.Errorf("restore sequence %d: it is not empty, or what was saved is another device's", seq)
	}
	d.seqs[seq] = history{tokens: slices.Clone(kept.tokens), hash: slices.Clone(kept.hash)}
	d.held += len(kept.tokens)
	return nil
}

var _ gpu.Device = (*Device)(nil)
