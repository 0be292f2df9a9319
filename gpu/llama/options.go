package llama

import (
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	capi "github.com/hybridgroup/yzma/pkg/llama"
)

// Names that Options take.
const (
	DeviceAuto = "auto" // the first GPU that the libraries offer, the CPU when they offer none
	DeviceCPU  = "cpu"

	KVF16  = "f16"
	KVQ8_0 = "q8_0"

	LayoutUnified = "unified" // one pool of cells; any sequence may use all of it
	LayoutSplit   = "split"   // every sequence has its own part; a sequence's logits then never depend on the others

	FlashAuto = "auto" // on, but on a GPU with an f16 cache, where llama.cpp finds out whether it can be
	FlashOn   = "on"
	FlashOff  = "off"
)

// Limits on sizes. Beyond them llama.cpp works for minutes before it fails, or ends the process.
const (
	maxKVTokens    = 1 << 24
	maxBatchTokens = 1 << 14
	maxSeqIDs      = 256
)

// Options say what to open. Zero values take the default that stands beside each.
type Options struct {
	LibDir    string // folder with libllama.so and its companions; required
	ModelPath string // GGUF file; required
	Name      string // id of the model; default: the file's name without .gguf

	Device    string // DeviceAuto (default), DeviceCPU, or a name from Devices such as "CUDA0"
	GPULayers int    // layers kept on a GPU; default: all. The CPU computes the rest

	ContextTokens  int    // longest request, prompt and output; default: what the model was trained for, at most what the KV cache holds
	KVTokens       int    // tokens that all sequences together may hold; default 16384, more when ContextTokens asks for it
	MaxSeqs        int    // sequences at a time, 1..256; default 16
	MaxBatchTokens int    // tokens of one Forward, at least MaxSeqs; default 512
	Threads        int    // CPU threads of a Forward, at most the number of CPUs; default: the physical cores the process may use
	KVType         string // KVF16 or KVQ8_0; default KVQ8_0 in a split cache on the CPU, where it is batch-invariant, KVF16 elsewhere
	KVLayout       string // LayoutUnified (default) or LayoutSplit
	FlashAttention string // FlashAuto (default), FlashOn or FlashOff; a q8_0 KV cache needs it

	Drafter    string // DrafterModel, DrafterEAGLE3 or DrafterMTP; default: none
	DraftModel string // GGUF file of the draft model or of the EAGLE-3 head

	Log *slog.Logger // llama.cpp's own lines go here at debug level; default: dropped

	noTokenizer bool // for tests: models that cannot turn text into tokens are opened too
}

// withDefaults fills in what does not depend on the model and checks what can be checked before anything is opened.
func (o Options) withDefaults() (Options, error) {
	if o.LibDir == "" {
		return o, usagef("no folder of llama.cpp libraries is given; run make setup, or name one with --llama-lib")
	}
	if o.ModelPath == "" {
		return o, usagef("no model file is given; run make setup, or name a GGUF file with --model")
	}
	if o.Name == "" {
		o.Name = strings.TrimSuffix(filepath.Base(o.ModelPath), ".gguf")
	}
	setDefault(&o.Device, DeviceAuto)
	setDefault(&o.KVLayout, LayoutUnified)
	setDefault(&o.FlashAttention, FlashAuto)
	setDefault(&o.MaxSeqs, 16)
	setDefault(&o.MaxBatchTokens, max(512, o.MaxSeqs))
	setDefault(&o.Threads, defaultThreads())
	return o, o.check()
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (o Options) check() error {
	switch {
	case o.KVLayout != LayoutUnified && o.KVLayout != LayoutSplit:
		return usagef("KV layout %q is unknown: use %q or %q", o.KVLayout, LayoutUnified, LayoutSplit)
	case o.KVType != "" && o.KVType != KVF16 && o.KVType != KVQ8_0:
		return usagef("KV type %q is unknown: use %q or %q", o.KVType, KVF16, KVQ8_0)
	case !slices.Contains([]string{FlashAuto, FlashOn, FlashOff}, o.FlashAttention):
		return usagef("flash attention %q is unknown: use %q, %q or %q", o.FlashAttention, FlashAuto, FlashOn, FlashOff)
	case o.KVType == KVQ8_0 && o.FlashAttention == FlashOff:
		return usagef("a %s KV cache needs flash attention, which is off: use --kv-type %s, or leave flash attention on", KVQ8_0, KVF16)
	case o.MaxSeqs < 1 || o.MaxSeqs > maxSeqIDs:
		return usagef("%d sequences at a time are asked for: use 1 to %d", o.MaxSeqs, maxSeqIDs)
	case o.MaxBatchTokens < o.MaxSeqs || o.MaxBatchTokens > maxBatchTokens:
		return usagef("a batch of %d tokens is asked for: use at least one for each of the %d sequences and at most %d", o.MaxBatchTokens, o.MaxSeqs, maxBatchTokens)
	case o.Threads < 1 || o.Threads > runtime.NumCPU():
		return usagef("%d threads are asked for: use 1 to %d, the CPUs that this process may use", o.Threads, runtime.NumCPU())
	case !slices.Contains([]string{"", DrafterModel, DrafterEAGLE3, DrafterMTP}, o.Drafter):
		return usagef("drafter %q is unknown: use %q, %q or %q", o.Drafter, DrafterModel, DrafterEAGLE3, DrafterMTP)
	case o.DraftModel == "" && (o.Drafter == DrafterModel || o.Drafter == DrafterEAGLE3):
		return usagef("the drafter %q needs a GGUF file of its own: name one with --draft-model", o.Drafter)
	case o.DraftModel != "" && o.Drafter != DrafterModel && o.Drafter != DrafterEAGLE3:
		return usagef("the draft model %s is given, but the drafter that reads one is not asked for: use %q or %q", o.DraftModel, DrafterModel, DrafterEAGLE3)
	case o.GPULayers < 0:
		return usagef("%d layers on the GPU are asked for: use 0 for all of them, or a positive number", o.GPULayers)
	case o.KVTokens < 0 || o.KVTokens > maxKVTokens:
		return usagef("a KV cache of %d tokens is asked for: use at most %d", o.KVTokens, maxKVTokens)
	case o.ContextTokens < 0 || o.ContextTokens > maxKVTokens:
		return usagef("a context of %d tokens is asked for: use at most %d", o.ContextTokens, maxKVTokens)
	}
	return nil
}

// withModel fills in what depends on the length that the model was trained for.
func (o Options) withModel(trained int) (Options, error) {
	if o.ContextTokens > trained {
		return o, usagef("a context of %d tokens is asked for, but %s was trained for %d", o.ContextTokens, o.Name, trained)
	}
	share := 1
	if o.KVLayout == LayoutSplit {
		share = o.MaxSeqs
	}
	setDefault(&o.KVTokens, max(16384, o.ContextTokens*share))
	setDefault(&o.ContextTokens, min(trained, o.KVTokens/share))
	switch {
	case o.KVTokens > maxKVTokens:
		return o, usagef("%d sequences of %d tokens need a KV cache of %d tokens; use fewer or shorter ones, at most %d in all", o.MaxSeqs, o.ContextTokens, o.KVTokens, maxKVTokens)
	case o.ContextTokens*share > o.KVTokens:
		return o, usagef("a context of %d tokens does not fit a KV cache of %d tokens in %d part(s)", o.ContextTokens, o.KVTokens, share)
	case o.KVTokens < o.MaxSeqs || o.ContextTokens < 2:
		return o, usagef("a KV cache of %d tokens is too small for %d sequences", o.KVTokens, o.MaxSeqs)
	}
	return o, nil
}

// defaultThreads is one thread for each physical core, but no more than a container's CPU limit allows: llama.cpp's
// threads spin at a barrier, and one that has no CPU holds up all the others.
func defaultThreads() int {
	return max(1, min(int(capi.Threads()), runtime.GOMAXPROCS(0), runtime.NumCPU()))
}
