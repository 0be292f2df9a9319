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
	d := &drafter{name: c.opts.Drafter, dev: dev, seqs: make([]draftSeq, len(dev.length))}
	var err error
	switch c.opts.Drafter {
	case DrafterModel:
		err = c.openDraftModel(d)
	case DrafterEAGLE3:
		err = c.openEAGLE3(d)
	case DrafterMTP:
		err = c.openMTP(d)
	}
	if err != nil {
		return nil, err
	}
	stop, data := lib.fn.strlen, dev.abort.flag
	lib.fn.setAbort.Call(nil, &d.side.handle, &stop, &data)
	return d, nil
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

func (c *Context) openDraftModel(d *drafter) error {
	model, err := c.loadModel(c.opts.DraftModel, false)
	if err != nil {
		return err
	}
	if err = c.checkDraftModel(model); err == nil {
		d.side, err = c.openSide(model, min(catchUpRows, max(c.opts.MaxBatchTokens, seedRows)), 0, maxDrafts, nil)
	}
	if err != nil {
		_ = capi.ModelFree(model)
		return err
	}
	d.side.model = model
	d.side.room = min(d.side.room, int(capi.ModelNCtxTrain(model)))
	return nil
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

func (c *Context) openEAGLE3(d *drafter) error {
	fn, err := hiddenFunctions()
	if err != nil {
		return err
	}
	model, err := c.loadModel(c.opts.DraftModel, false)
	if err != nil {
		return err
	}
	width, part := int(capi.ModelNEmbd(model)), int(capi.ModelNEmbd(c.Model))
	d.side, err = c.openSide(model, headRows, width, maxDrafts, func(p *capi.ContextParams) { p.CtxOther = c.Handle })
	if err != nil {
		_ = capi.ModelFree(model)
		return err
	}
	d.side.model, d.shift = model, 1
	layers := fn.TargetLayers(model)
	record := &recorder{fn: fn, layers: layers, part: part, width: part * len(layers)}
	for _, layer := range layers {
		fn.RecordLayer(c.Handle, int(layer), true)
	}
	fn.Record(d.side.handle, true, true)
	d.head = &head{fn: fn, width: width, record: record, encode: newEncoder(fn, d.side, record.width, width)}
	return nil
}

func (c *Context) openMTP(d *drafter) error {
	fn, err := hiddenFunctions()
	if err != nil {
		return err
	}
	width := int(capi.ModelNEmbdOut(c.Model))
	d.side, err = c.openSide(c.Model, headRows, width, maxDrafts, func(p *capi.ContextParams) { p.CtxType = capi.ContextTypeMTP })
	if err != nil {
		return err
	}
	fn.Record(c.Handle, true, false)
	fn.Record(d.side.handle, true, true)
	fn.UseBlock(d.side.handle, 0)
	d.head = &head{fn: fn, width: width, record: &recorder{fn: fn, part: width, width: width}, zeros: make([]float32, width)}
	return nil
}
