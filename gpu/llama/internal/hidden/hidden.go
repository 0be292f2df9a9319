// Package hidden calls the functions of llama.cpp that give the hidden states inside a model, which a draft head reads.
// The bindings lack them: most are not part of the C API, so they are found by their C++ names.
//
// It checks nothing but that the functions are there. A layer that was not switched on, or a row that was not computed,
// ends the process or reads foreign memory; package llama is what keeps to the rules.
//
//	f, err := hidden.Load(lib)
//	f.RecordLayer(ctx, 8, true)  // before the first decode
//	rows := f.Layer(ctx, 8, n*width)
package hidden

import (
	"fmt"
	"unsafe"

	capi "github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/loader"
	"github.com/jupiterrider/ffi"
)

// Functions are those of one opened library. They are called from the goroutine that the context belongs to.
type Functions struct {
	recordLayer  ffi.Fun
	layer        ffi.Fun
	record       ffi.Fun
	states       ffi.Fun
	state        ffi.Fun
	block        ffi.Fun
	targetLayers ffi.Fun
	targetCount  ffi.Fun
	other        ffi.Fun
	blocks       ffi.Fun
}

// Load finds the functions. A C++ name holds the types of the parameters, so a changed signature is not found; a changed
// result or meaning would be, which is why package llama accepts one release only.
func Load(l loader.Lib) (*Functions, error) {
	f := new(Functions)
	ptr, i32, flag, none := &ffi.TypePointer, &ffi.TypeSint32, &ffi.TypeUint8, &ffi.TypeVoid
	for _, x := range []struct {
		fn   *ffi.Fun
		name string
		ret  *ffi.Type
		args []*ffi.Type
	}{
		{&f.recordLayer, "_Z30llama_set_embeddings_layer_inpP13llama_contextjb", none, []*ffi.Type{ptr, i32, flag}},
		{&f.layer, "_Z30llama_get_embeddings_layer_inpP13llama_contextj", ptr, []*ffi.Type{ptr, i32}},
		{&f.record, "_Z26llama_set_embeddings_nextnP13llama_contextbb", none, []*ffi.Type{ptr, flag, flag}},
		{&f.states, "_Z26llama_get_embeddings_nextnP13llama_context", ptr, []*ffi.Type{ptr}},
		{&f.state, "_Z30llama_get_embeddings_nextn_ithP13llama_contexti", ptr, []*ffi.Type{ptr, i32}},
		{&f.block, "_Z28llama_set_nextn_layer_offsetP13llama_contexti", none, []*ffi.Type{ptr, i32}},
		{&f.targetLayers, "_Z28llama_model_target_layer_idsPK11llama_model", ptr, []*ffi.Type{ptr}},
		{&f.targetCount, "_Z30llama_model_target_layer_ids_nPK11llama_model", i32, []*ffi.Type{ptr}},
		{&f.other, "_Z19llama_get_ctx_otherP13llama_context", ptr, []*ffi.Type{ptr}},
		{&f.blocks, "llama_model_n_layer_nextn", i32, []*ffi.Type{ptr}},
	} {
		var err error
		if *x.fn, err = l.Prep(x.name, x.ret, x.args...); err != nil {
			return nil, fmt.Errorf("draft heads cannot run on these llama.cpp libraries: %w", err)
		}
	}
	return f, nil
}

// RecordLayer makes ctx keep the input of a layer for every row that it computes, from the next decode on.
func (f *Functions) RecordLayer(ctx capi.Context, layer int, on bool) {
	l, b := int32(layer), flag(on)
	f.recordLayer.Call(nil, &ctx, &l, &b)
}

// Layer gives n values of the inputs of a layer that were kept by the last decode, one row after the other. The memory is
// the library's, until the next decode.
func (f *Functions) Layer(ctx capi.Context, layer, n int) []float32 {
	l := int32(layer)
	var p *float32
	f.layer.Call(&p, &ctx, &l)
	return values(p, n)
}

// Record makes ctx keep its last hidden states: of all rows, or only of those that are flagged as outputs.
func (f *Functions) Record(ctx capi.Context, on, flaggedOnly bool) {
	a, b := flag(on), flag(flaggedOnly)
	f.record.Call(nil, &ctx, &a, &b)
}

// States gives n values of the hidden states of the last decode or encode, one row after the other; nil when none were kept.
func (f *Functions) States(ctx capi.Context, n int) []float32 {
	var p *float32
	f.states.Call(&p, &ctx)
	return values(p, n)
}

// State gives the hidden state, width values, of the row at that index of the last batch; nil when it was not kept.
func (f *Functions) State(ctx capi.Context, row, width int) []float32 {
	r := int32(row)
	var p *float32
	f.state.Call(&p, &ctx, &r)
	return values(p, width)
}

// UseBlock chooses which of a model's prediction blocks the next decodes run.
func (f *Functions) UseBlock(ctx capi.Context, block int) {
	b := int32(block)
	f.block.Call(nil, &ctx, &b)
}

// TargetLayers lists the layers of the target whose inputs a head reads; none for any other model.
func (f *Functions) TargetLayers(m capi.Model) []int32 {
	var n ffi.Arg
	f.targetCount.Call(&n, &m)
	var p *int32
	f.targetLayers.Call(&p, &m)
	if p == nil || int32(n) <= 0 {
		return nil
	}
	return append([]int32(nil), unsafe.Slice(p, int32(n))...)
}

// Blocks is how many prediction blocks the model's file declares; whether they were loaded it does not tell.
func (f *Functions) Blocks(m capi.Model) int {
	var n ffi.Arg
	f.blocks.Call(&n, &m)
	return int(int32(n))
}

// Target is the context that ctx was opened beside; 0 = none.
func (f *Functions) Target(ctx capi.Context) capi.Context {
	var p capi.Context
	f.other.Call(&p, &ctx)
	return p
}

func flag(on bool) uint8 {
	if on {
		return 1
	}
	return 0
}

func values(p *float32, n int) []float32 {
	if p == nil {
		return nil
	}
	return unsafe.Slice(p, n)
}
