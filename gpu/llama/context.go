package llama

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama/internal/gguf"
)

// Context is a model and its KV cache as llama.cpp has them, opened with the settings that Open uses but without any of
// its checks: a wrong argument to a function that takes these handles ends the process. It is for benchmarks that
// compare the device with the plain library.
type Context struct {
	Model  capi.Model
	Handle capi.Context
	Memory capi.Memory
	Vocab  capi.Vocab
	Info   gpu.Info

	opts    Options
	header  *gguf.Header
	device  DeviceInfo
	threads capi.Threadpool          // 0 = none
	devices []capi.GGMLBackendDevice // read by C while the model loads: lives as long as the Context
}

// OpenContext opens the libraries, the model and a KV cache. Errors wrap ErrUsage when what was asked for is to blame.
func OpenContext(o Options) (*Context, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	header, err := gguf.ReadFile(o.ModelPath)
	if err != nil {
		return nil, headerError(o.ModelPath, err)
	}
	if err := o.checkDrafter(header); err != nil {
		return nil, err
	}
	if err := LoadLibrary(o.LibDir, o.Log); err != nil {
		return nil, err
	}
	c := &Context{opts: o, header: header}
	offered := Devices()
	if c.device, err = chooseDevice(o.Device, offered); err != nil {
		return nil, usagef("%w%s", err, hintOf(o.Device, o.LibDir, offered))
	}
	if o.GPULayers > 0 && !c.device.GPU {
		return nil, usagef("%d layers on a GPU are asked for, and the device is %s; a GPU is named with --device", o.GPULayers, c.device.Name)
	}
	if err := c.open(header); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Context) open(header *gguf.Header) error {
	var err error
	if c.Model, err = c.loadModel(c.opts.ModelPath, c.opts.Drafter == DrafterMTP); err != nil {
		return err
	}
	if err := c.checkModel(); err != nil {
		return err
	}
	if c.opts, err = c.opts.withModel(int(capi.ModelNCtxTrain(c.Model))); err != nil {
		return err
	}
	if err := c.checkMemory(); err != nil {
		return err
	}
	if err := c.openThreads(); err != nil {
		return err
	}
	warnings, err := c.makeContext()
	if err != nil {
		return err
	}
	c.Info = c.describe()
	c.Info.Warnings = append(warnings, c.deviceWarnings()...)
	if !c.device.GPU {
		c.Info.Warnings = append(c.Info.Warnings, kernelWarnings(header, cpuFeatures(), c.opts.ModelPath)...)
	}
	return nil
}

// loadModel loads a model onto the device, with the blocks that predict further tokens when it is asked to and it has some.
func (c *Context) loadModel(path string, mtp bool) (capi.Model, error) {
	p := capi.ModelDefaultParams()
	p.SplitMode, p.NGpuLayers = capi.SplitModeNone, 0
	if mtp {
		p.LoadMTP = 1
	}
	// A list without any device keeps everything on the CPU; no list at all would let a GPU take part.
	c.devices = []capi.GGMLBackendDevice{0}
	if c.device.GPU {
		p.NGpuLayers = 1 << 20
		if c.opts.GPULayers > 0 {
			p.NGpuLayers = int32(min(c.opts.GPULayers, 1<<20))
		}
		p.SplitMode = capi.SplitModeLayer
		c.devices = []capi.GGMLBackendDevice{c.device.handle, 0}
	}
	if err := p.SetDevices(c.devices); err != nil {
		return 0, fmt.Errorf("set device %s: %w", c.device.Name, err)
	}
	var model capi.Model
	var err error
	why := explain(func() { model, err = capi.ModelLoadFromFile(path, p) })
	runtime.KeepAlive(c)
	if err != nil {
		return 0, usagef("load model %s: %w", path, because(err, why))
	}
	return model, nil
}

// because prefers what llama.cpp logged over the binding's general words.
func because(err error, why string) error {
	if why == "" {
		return err
	}
	return errors.New(why)
}

// checkModel refuses models that are loaded but do not write text token by token.
func (c *Context) checkModel() error {
	c.Vocab = capi.ModelGetVocab(c.Model)
	kind := ""
	switch {
	case capi.ModelHasEncoder(c.Model) || !capi.ModelHasDecoder(c.Model):
		kind = "an encoder"
	case capi.ModelIsDiffusion(c.Model):
		kind = "a diffusion model"
	case capi.GetVocabType(c.Vocab) == capi.VocabTypeNone && !c.opts.noTokenizer || capi.VocabNTokens(c.Vocab) <= 0:
		kind = "a model without a tokenizer"
	case capi.ModelNCtxTrain(c.Model) < 2:
		kind = "a model without a context length"
	default:
		return nil
	}
	return usagef("%s is %s; sluice serves decoder-only language models", c.opts.ModelPath, kind)
}

// checkMemory refuses a KV cache that cannot fit the machine: llama.cpp would work on it for a long time first.
func (c *Context) checkMemory() error {
	heads, layers := int64(capi.ModelNHead(c.Model)), int64(capi.ModelNLayer(c.Model))
	if heads <= 0 || c.device.TotalBytes == 0 {
		return nil
	}
	perToken := 2 * layers * int64(capi.ModelNEmbd(c.Model)) / heads * int64(capi.ModelNHeadKV(c.Model)) // at q8_0
	if c.kvTypes()[0] == KVF16 {
		perToken *= 2
	}
	if need := uint64(perToken) * uint64(c.opts.KVTokens); need > c.device.TotalBytes {
		return usagef("a KV cache of %d tokens needs %d MiB; %s has %d MiB", c.opts.KVTokens, need>>20, c.device.Name, c.device.TotalBytes>>20)
	}
	return nil
}

// kvTypes are the KV types that the options allow, best first.
func (c *Context) kvTypes() []string {
	switch {
	case c.opts.KVType != "":
		return []string{c.opts.KVType}
	case !c.device.GPU && c.opts.KVLayout == LayoutSplit && c.opts.FlashAttention != FlashOff:
		return []string{KVQ8_0, KVF16}
	default:
		return []string{KVF16}
	}
}

// makeContext makes a context with the first of kvTypes that the model takes.
func (c *Context) makeContext() (warnings []string, err error) {
	types := c.kvTypes()
	for _, t := range types {
		p := c.params(t)
		why := explain(func() { c.Handle, err = capi.InitFromModel(c.Model, p) })
		if err == nil {
			c.opts.KVType = t
			c.lendThreads(c.Handle)
			break
		}
		err = usagef("make a context for %s with a %s KV cache: %w", c.opts.ModelPath, t, because(err, why))
	}
	if err != nil {
		return nil, err
	}
	if c.Memory, err = capi.GetMemory(c.Handle); err != nil || c.Memory == 0 {
		return nil, usagef("%s has no KV cache; sluice serves decoder-only language models", c.opts.ModelPath)
	}
	if len(types) > 1 && c.opts.KVType != types[0] {
		warnings = append(warnings, "this model's heads do not fit a q8_0 KV cache, f16 is used: twice the memory, and a text may depend on what else is in the batch")
	}
	if c.opts.FlashAttention == FlashOff && !c.device.GPU {
		warnings = append(warnings, "flash attention is off: long contexts are slower, and a text may depend on what else is in the batch")
	}
	if capi.ModelIsRecurrent(c.Model) || capi.ModelIsHybrid(c.Model) {
		warnings = append(warnings, "this model keeps a state that cannot be cut back: run it with speculation off")
	}
	return warnings, nil
}

func (c *Context) params(kvType string) capi.ContextParams {
	p := capi.ContextDefaultParams()
	o := c.opts
	p.NCtx, p.NSeqMax = uint32(o.KVTokens), uint32(o.MaxSeqs+c.spareSeqs())
	p.NBatch, p.NUbatch = uint32(o.MaxBatchTokens), uint32(min(o.MaxBatchTokens, 512))
	p.NThreads, p.NThreadsBatch = int32(o.Threads), int32(o.Threads)
	p.NoPerf = 1
	p.TypeK, p.TypeV = capi.GGMLTypeF16, capi.GGMLTypeF16
	if kvType == KVQ8_0 {
		p.TypeK, p.TypeV = capi.GGMLTypeQ8_0, capi.GGMLTypeQ8_0
	}
	p.KVUnified = 0
	if o.KVLayout == LayoutUnified {
		p.KVUnified = 1
	}
	p.FlashAttentionType = c.flashAttention(kvType)
	if c.device.GPU {
		p.NUbatch = uint32(min(o.MaxBatchTokens, 2048))
	} else {
		p.Offload_kqv, p.OpOffload = 0, 0
	}
	return p
}

func (c *Context) flashAttention(kvType string) capi.FlashAttentionType {
	switch {
	case c.opts.FlashAttention == FlashOff:
		return capi.FlashAttentionTypeDisabled
	case c.opts.FlashAttention == FlashAuto && c.device.GPU && kvType == KVF16:
		return capi.FlashAttentionTypeAuto // some GPUs lack it
	}
	return capi.FlashAttentionTypeEnabled
}

// plainKV tells whether the model keeps one cell for each position and nothing else: only then can a prefix be copied, and a
// cache be saved whose cells we have counted.
func (c *Context) plainKV() bool {
	return !capi.ModelIsRecurrent(c.Model) && !capi.ModelIsHybrid(c.Model) && capi.ModelNSWA(c.Model) <= 0
}

// maxSpareSeqs is how many prefixes may be held beside the sequences that run. Each id costs one row of logits in memory.
const maxSpareSeqs = 64

// spareSeqs is what llama.cpp has sequence ids for, beside those of a step. In a split cache each would have cells of its own.
func (c *Context) spareSeqs() int {
	if c.opts.KVLayout != LayoutUnified || !c.plainKV() {
		return 0
	}
	ids := min(maxSeqIDs, c.opts.MaxBatchTokens, c.opts.KVTokens)
	return min(maxSpareSeqs, ids-c.opts.MaxSeqs)
}

// tiledRows is from how many rows on the CPU computes attention over an f16 cache in tiles (GGML_FA_TILE_Q of ggml-cpu), each key once
// for all rows of a tile. In a split cache the rows of one sequence would have to be as many.
const tiledRows = 64

// describe reads the sizes back: llama.cpp rounds the KV cache up and may cut the batch down.
func (c *Context) describe() gpu.Info {
	info := gpu.Info{
		Device: c.device.Name, DeviceName: strings.TrimSpace(c.device.Description),
		Model: c.opts.Name, ModelPath: c.opts.ModelPath,
		VocabSize:      int(capi.VocabNTokens(c.Vocab)),
		ContextTokens:  c.opts.ContextTokens,
		KVTokens:       int(capi.NCtx(c.Handle)),
		MaxSeqs:        c.opts.MaxSeqs,
		SpareSeqs:      c.spareSeqs(),
		MaxBatchTokens: min(c.opts.MaxBatchTokens, int(capi.NBatch(c.Handle))),
		Drafter:        c.opts.Drafter,
	}
	info.ContextTokens = min(info.ContextTokens, int(capi.NCtxSeq(c.Handle)))
	if c.plainKV() {
		info.CanSave, info.CopyMin = true, copyMinSplit
		if c.opts.KVLayout == LayoutUnified {
			info.SharedKV, info.CopyMin = true, copyMinShared
		}
	}
	if !c.device.GPU && c.opts.KVLayout == LayoutUnified && c.opts.KVType == KVF16 && c.opts.FlashAttention != FlashOff {
		info.WideRows = tiledRows
	}
	return info
}

// Close frees the KV cache, the compute threads and the model. A second call does nothing.
func (c *Context) Close() {
	if c.Handle != 0 {
		_ = capi.Free(c.Handle)
		c.Handle, c.Memory = 0, 0
	}
	c.closeThreads()
	if c.Model != 0 {
		_ = capi.ModelFree(c.Model)
		c.Model, c.Vocab = 0, 0
	}
}
