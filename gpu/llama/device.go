package llama

import (
	"fmt"
	"math/rand/v2"
	"sync"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// Device is an open model with its KV cache. See gpu.Device for who may call what; calls that overlap all the same wait
// for each other instead of ending the process.
type Device struct {
	mu     sync.Mutex
	ctx    *Context
	batch  *batch
	tok    *Tokenizer
	abort  *abortFlag
	info   gpu.Info
	kv     *cells
	rows   []int       // last Forward: index in the batch of each item's first kept row
	kept   []int       // last Forward: rows kept of each item
	id     uint64      // marks what this device has saved
	spare  spare       // memory for what is saved, or copied between the parts of a split cache
	broken error       // why nothing is computed until Reset; nil = it works
	apart  [][]float32 // last Forward: logits of items that were computed by themselves
	draft  *drafter    // nil = none
	closed bool
	setup  string

	decode func(capi.Context, capi.Batch) (int32, error) // llama_decode, but in tests of its failures
}

// Open opens the libraries, the model and a KV cache, and on a GPU computes once so that kernels are built before the
// first request. It takes about 0.3 s for a model of 100 MB. Errors wrap ErrUsage when what was asked for is to blame.
func Open(o Options) (*Device, error) {
	c, err := OpenContext(o)
	if err != nil {
		return nil, err
	}
	d := &Device{ctx: c, info: c.Info, id: rand.Uint64(), decode: capi.Decode}
	d.kv = newCells(c.Info.KVTokens, c.Info.MaxSeqs+c.Info.SpareSeqs)
	d.batch = newBatch(c.Info.MaxBatchTokens)
	d.abort = newAbortFlag(c.Handle)
	d.tok = newTokenizer(c.Model, c.Vocab)
	d.setup = d.describeSetup()
	if d.draft, err = c.openDrafter(d); err != nil {
		d.Close()
		return nil, err
	}
	if c.device.GPU {
		if err := d.warmUp(); err != nil {
			d.Close()
			return nil, fmt.Errorf("compute a first batch on %s: %w", d.info.Device, err)
		}
	}
	return d, nil
}

func (d *Device) warmUp() error {
	for _, n := range []int{min(64, d.info.MaxBatchTokens, d.info.ContextTokens), 1} {
		item := gpu.Item{Tokens: make([]gpu.Token, n), Logits: 1}
		if err := d.Forward(&gpu.Batch{Items: []gpu.Item{item}}); err != nil {
			return err
		}
		if err := d.Trim(0, 0); err != nil {
			return err
		}
	}
	return nil
}

// Info says what was opened.
func (d *Device) Info() gpu.Info { return d.info }

// Tokenizer is the model's own. It outlives the device, but Encode is an error after Close.
func (d *Device) Tokenizer() *Tokenizer { return d.tok }

// Trim forgets the positions of seq from pos on; a position that seq does not hold yet is no error. It fails for a
// model whose memory cannot be cut back (a recurrent one) unless pos is 0.
func (d *Device) Trim(seq, pos int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if pos < 0 {
		return fmt.Errorf("trim sequence %d at %d: positions are not negative", seq, pos)
	}
	if err := d.checkSeq(seq); err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	if held := d.kv.length(seq); pos >= held {
		d.trimDraft(seq, min(pos, held+1))
		return nil
	}
	return d.cut(seq, pos)
}

func (d *Device) checkSeq(seq int) error {
	if seq < 0 || seq >= len(d.kv.seqs) {
		return fmt.Errorf("sequence %d is not one of 0..%d", seq, len(d.kv.seqs)-1)
	}
	return nil
}

// cut makes seq pos tokens long in the library and in our record.
func (d *Device) cut(seq, pos int) error {
	from := pos
	if from == 0 {
		from = -1
	}
	ok, err := false, error(nil)
	if pos == 0 || d.holdsWindow(seq, pos) {
		ok, err = capi.MemorySeqRm(d.ctx.Memory, capi.SeqId(seq), capi.Pos(from), -1)
	}
	if err != nil || !ok {
		return fmt.Errorf("trim sequence %d at %d: this model's memory can only be dropped as a whole", seq, pos)
	}
	d.kv.cut(seq, pos)
	d.trimDraft(seq, pos)
	return nil
}

// holdsWindow tells whether what attends to position pos is still there: a model with a sliding window forgets what has slid
// out of it, and cut back it would go on without.
func (d *Device) holdsWindow(seq, pos int) bool {
	window := int(capi.ModelNSWA(d.ctx.Model))
	if window <= 0 {
		return true
	}
	first, err := capi.MemorySeqPosMin(d.ctx.Memory, capi.SeqId(seq))
	return err == nil && int(first) <= max(0, pos-window)
}

// Logits is the i-th kept row of the item-th item of the last Forward. The slice is the library's own memory: valid
// until the next Forward or Close, and not to be written.
func (d *Device) Logits(item, i int) ([]float32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	if item < 0 || item >= len(d.rows) || i < 0 || i >= d.kept[item] {
		return nil, fmt.Errorf("logits %d of item %d were not kept by the last batch", i, item)
	}
	if own := d.apart[item]; own != nil {
		return own[i*d.info.VocabSize : (i+1)*d.info.VocabSize], nil
	}
	row, err := capi.GetLogitsIth(d.ctx.Handle, int32(d.rows[item]+i), d.info.VocabSize)
	if err != nil || row == nil {
		return nil, fmt.Errorf("logits %d of item %d: llama.cpp has none", i, item)
	}
	return row, nil
}

// Abort makes a Forward that is running return gpu.ErrAborted, on the CPU within about 20 ms. Layers on a GPU are not
// interrupted. It may be called from any goroutine, also after Close.
func (d *Device) Abort() { d.abort.raise() }

// Close aborts a Forward that is running, waits for it, and frees everything. A second call does nothing.
func (d *Device) Close() error {
	d.abort.raise()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	d.rows, d.kept = nil, nil
	d.tok.close()
	if d.draft != nil {
		d.draft.close()
	}
	d.ctx.Close()
	d.batch.free()
	d.abort.close()
	return nil
}

var (
	_ gpu.Device   = (*Device)(nil)
	_ gpu.Resetter = (*Device)(nil)
	_ gpu.Recycler = (*Device)(nil)
)
