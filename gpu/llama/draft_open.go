package llama

import (
	"fmt"

	capi "github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/loader"

	"github.com/sluice-dev/sluice/gpu/llama/internal/hidden"
)

// headRows is how many rows a head computes at once. Its graph makes logits over the whole vocabulary for every row.
const headRows = 128

// maxDrafts is how far beyond the known tokens a drafter's context reaches.
const maxDrafts = 16

// openDrafter opens what Options name beside an open device; nil when they name nothing. The files were looked at by
// checkDrafter: what is asked of llama.cpp here would end the process otherwise.
func (c *Context) openDrafter(dev *Device) (*drafter, error) {
	if c.opts.Drafter == "" {
		return nil, nil
	}
	if capi.ModelIsRecurrent(c.Model) || capi.ModelIsHybrid(c.Model) {
		return nil, usagef("%s keeps a state that cannot be cut back, so drafts cannot be taken back: run it without a drafter", c.opts.ModelPath)
	}
	d := &drafter{name: c.opts.Drafter, dev: dev}
	err := d.load(c)
	if err == nil {
		err = d.attach(c)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// load opens what outlives the device's context: the drafter's own model, and the functions that heads need.
func (d *drafter) load(c *Context) (err error) {
	if d.name != DrafterModel {
		if d.fn, err = hiddenFunctions(); err != nil {
			return err
		}
	}
	if d.name != DrafterMTP {
		if d.model, err = c.loadModel(c.opts.DraftModel, false); err != nil {
			return err
		}
	}
	if d.name == DrafterModel {
		return c.checkDraftModel(d.model)
	}
	return nil
}

// hiddenFunctions finds in the opened libraries what heads need.
func hiddenFunctions() (*hidden.Functions, error) {
	l, err := loader.LoadLibrary(lib.dir, "llama")
	if err != nil {
		return nil, fmt.Errorf("open the llama.cpp libraries in %s: %w", lib.dir, err)
	}
	fn, err := hidden.Load(l)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return fn, nil
}

// checkDraftModel refuses a model whose drafts would mean other text than the same tokens of the device's model.
func (c *Context) checkDraftModel(model capi.Model) error {
	file, vocab := c.opts.DraftModel, capi.ModelGetVocab(model)
	if capi.ModelHasEncoder(model) || !capi.ModelHasDecoder(model) || capi.ModelIsRecurrent(model) || capi.ModelIsHybrid(model) {
		return usagef("draft model %s is not a decoder-only model whose memory can be cut back", file)
	}
	n := capi.VocabNTokens(c.Vocab)
	if got := capi.VocabNTokens(vocab); got != n {
		return usagef("draft model %s has %d tokens, %s has %d: they must share one vocabulary", file, got, c.opts.ModelPath, n)
	}
	if capi.GetVocabType(vocab) == capi.VocabTypeNone || capi.GetVocabType(c.Vocab) == capi.VocabTypeNone {
		return usagef("draft model %s cannot be compared with %s: one of them has no tokenizer", file, c.opts.ModelPath)
	}
	for t := range capi.Token(n) {
		if a, b := capi.VocabGetText(c.Vocab, t), capi.VocabGetText(vocab, t); a != b {
			return usagef("token %d is %q for draft model %s and %q for %s: they must share one vocabulary", t, b, file, a, c.opts.ModelPath)
		}
	}
	return nil
}

// attach makes the drafter's context beside the device's, before that one has computed anything. All sequences are empty.
func (d *drafter) attach(c *Context) (err error) {
	switch d.name {
	case DrafterModel:
		err = d.attachModel(c)
	case DrafterEAGLE3:
		err = d.attachEAGLE3(c)
	case DrafterMTP:
		err = d.attachMTP(c)
	}
	if err != nil {
		return err
	}
	d.dev.abort.attach(d.side.handle)
	d.seqs = make([]draftSeq, len(d.dev.kv.seqs))
	return nil
}

func (d *drafter) attachModel(c *Context) (err error) {
	if d.side, err = c.openSide(d.model, min(catchUpRows, max(c.opts.MaxBatchTokens, seedRows)), 0, nil); err == nil {
		d.side.room = min(d.side.room, int(capi.ModelNCtxTrain(d.model)))
	}
	return err
}

func (d *drafter) attachEAGLE3(c *Context) (err error) {
	width, part := int(capi.ModelNEmbd(d.model)), int(capi.ModelNEmbd(c.Model))
	d.side, err = c.openSide(d.model, headRows, width, func(p *capi.ContextParams) { p.CtxOther = c.Handle })
	if err != nil {
		return err
	}
	layers := d.fn.TargetLayers(d.model)
	for _, layer := range layers {
		d.fn.RecordLayer(c.Handle, int(layer), true)
	}
	d.fn.Record(d.side.handle, true, true)
	record := &recorder{fn: d.fn, layers: layers, part: part, width: part * len(layers)}
	d.head = &head{fn: d.fn, width: width, record: record, encode: newEncoder(d.fn, d.side, record.width, width)}
	d.shift = 1
	return nil
}

func (d *drafter) attachMTP(c *Context) (err error) {
	width := int(capi.ModelNEmbdOut(c.Model))
	d.side, err = c.openSide(c.Model, headRows, width, func(p *capi.ContextParams) { p.CtxType = capi.ContextTypeMTP })
	if err != nil {
		return err
	}
	d.fn.Record(c.Handle, true, false)
	d.fn.Record(d.side.handle, true, true)
	d.fn.UseBlock(d.side.handle, 0)
	d.head = &head{fn: d.fn, width: width, record: &recorder{fn: d.fn, part: width, width: width}, zeros: make([]float32, width)}
	return nil
}

// detach frees the drafter's context; the device's must still be there.
func (d *drafter) detach() {
	if d.head != nil && d.head.encode != nil {
		d.head.encode.close()
	}
	if d.side != nil {
		d.side.close()
	}
	d.head, d.side = nil, nil
}

// close frees all. The device's context and model must still be there.
func (d *drafter) close() {
	d.detach()
	if d.model != 0 {
		_ = capi.ModelFree(d.model)
		d.model = 0
	}
}
