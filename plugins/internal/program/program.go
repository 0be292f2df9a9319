package program

import (
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/wasmasm"
)

// Steps is how often a program enters a function or passes a loop's header before it leaves them all.
const Steps = 300

const pages = 1

// Type indices of a program. Functions have one of the first three.
const (
	typeVoid  = iota // () -> ()
	typeInt          // (i32) -> (i32)
	typePair         // (i32, i64) -> (i64, i32)
	typeLoop         // (i32) -> (i32): of loops and blocks
	typeSplit        // () -> (i32, i64): of blocks
	funcTypes = 3
)

var i2i = funcType(types(typeI32), types(typeI32))

var programTypes = [][]byte{
	funcType(vec(), vec()), i2i,
	funcType(types(typeI32, typeI64), types(typeI64, typeI32)),
	i2i,
	funcType(vec(), types(typeI32, typeI64)),
}

// Locals of every function, behind the parameters.
var programLocals = []valueType{typeI32, typeI32, typeI64, typeI64, typeF64, typeV128, typeFuncRef}

// program draws the state of one function while it is written.
type program struct {
	t      *rapid.T
	funcs  []uint32 // type index of each function
	params []valueType
	typ    uint32
	labels []bool // of the open blocks, innermost last: whether a branch takes nothing along
	depth  int
	nans   bool // it may look at the bits of floats
}

func (p *program) pick(n int) int { return rapid.IntRange(0, n-1).Draw(p.t, "") }

func (p *program) one(choices ...func() []byte) []byte { return choices[p.pick(len(choices))]() }

// local draws a local of type t.
func (p *program) local(t valueType) []byte {
	var of []uint32
	for i, l := range append(p.params, programLocals...) {
		if l == t {
			of = append(of, uint32(i))
		}
	}
	return u32(of[p.pick(len(of))])
}

// Build draws a program that does not look at the bits of floats, which WebAssembly does not define where a NaN comes up.
func Build(t *rapid.T) []byte { return build(t, false) }

// BuildWithNaNs draws a program that does, and whose constants invite NaNs: it is the same everywhere only once metered.
func BuildWithNaNs(t *rapid.T) []byte { return build(t, true) }

func build(t *rapid.T, nans bool) []byte {
	p := &program{t: t, nans: nans, funcs: []uint32{typePair}}
	for range p.pick(4) {
		p.funcs = append(p.funcs, uint32(p.pick(funcTypes)))
	}
	var declared, refs, bodies [][]byte
	for i, typ := range p.funcs {
		declared = append(declared, u32(typ))
		refs = append(refs, u32(uint32(i)))
		bodies = append(bodies, p.function(typ))
	}
	admit := uint32(len(bodies))
	declared, bodies = append(declared, u32(typeInt)), append(bodies, admitBody)
	return module(
		section(wasmasm.SecType, programTypes...),
		section(wasmasm.SecFunction, declared...),
		section(wasmasm.SecTable, cat(typeFuncRef, 1, 4, 40), cat(typeExternRef, 0, 2)),
		section(wasmasm.SecMemory, cat(0, pages)),
		section(wasmasm.SecGlobal, cat(typeI32, 1, i32(Steps), opEnd), cat(typeI64, 1, i64(7), opEnd), cat(typeI32, 1, i32(-3), opEnd)),
		section(wasmasm.SecExport, export("run", kindFunction, 0), export(abi.ExportAdmit, kindFunction, admit),
			export("memory", kindMemory, 0), export("g0", kindGlobal, 0), export("g1", kindGlobal, 1), export("g2", kindGlobal, 2)),
		section(wasmasm.SecElement, cat(0, i32(0), opEnd, vec(refs[:min(4, len(refs))]...)), cat(1, 0, vec(refs...))),
		rawSection(wasmasm.SecDataCount, 2),
		section(wasmasm.SecCode, bodies...),
		section(wasmasm.SecData, cat(0, i32(100), opEnd, name("some data of the program")), cat(1, name("passive data"))),
	)
}

// Run is called with these; the admit hook passes its own argument for the first.
const (
	Arg32 = 5
	Arg64 = 1 << 33
)

// admitBody calls run, leaves what it returns and the globals at the end of the first page, and returns run's i32.
var admitBody = fn(vec(cat(1, typeI32), cat(1, typeI64)),
	opLocalGet, 0, i64(Arg64), 0x10, 0, 0x21, 1, 0x21, 2,
	i32(pages<<16-32), opLocalGet, 2, 0x37, 3, 0,
	i32(pages<<16-32), opLocalGet, 1, 0x36, 2, 8,
	i32(pages<<16-32), opGlobalGet, 0, 0x36, 2, 12,
	i32(pages<<16-32), opGlobalGet, 1, 0x37, 3, 16,
	i32(pages<<16-32), opGlobalGet, 2, 0x36, 2, 24,
	opLocalGet, 1)

func (p *program) function(typ uint32) []byte {
	p.typ, p.labels, p.depth = typ, []bool{typ == typeVoid}, 0
	p.params = nil
	switch typ {
	case typeInt:
		p.params = []valueType{typeI32}
	case typePair:
		p.params = []valueType{typeI32, typeI64}
	}
	var groups [][]byte
	for _, l := range programLocals {
		groups = append(groups, cat(1, l))
	}
	guard := cat(step, opIf, blockEmpty, p.defaults(), 0x0f, opEnd)
	return fn(vec(groups...), guard, p.statements(6), p.results())
}

// step takes a step, and leaves on the stack whether there are none left.
var step = cat(opGlobalGet, 0, i32(1), 0x6b, opGlobalSet, 0, opGlobalGet, 0, i32(0), 0x48)

func (p *program) defaults() []byte {
	switch p.typ {
	case typeInt:
		return i32(-1)
	case typePair:
		return cat(i64(-1), i32(-1))
	}
	return nil
}

// results writes expressions of the function's result types.
func (p *program) results() []byte {
	switch p.typ {
	case typeInt:
		return p.i32(3)
	case typePair:
		return cat(p.i64(3), p.i32(3))
	}
	return nil
}

// branch draws a label that takes nothing along; false when there is none.
func (p *program) branch() (label []byte, ok bool) {
	var of []int
	for i, empty := range p.labels {
		if empty {
			of = append(of, len(p.labels)-1-i)
		}
	}
	if len(of) == 0 {
		return nil, false
	}
	return u32(uint32(of[p.pick(len(of))])), true
}

func (p *program) enter(empty bool, inside func() []byte) []byte {
	p.labels = append(p.labels, empty)
	p.depth++
	out := inside()
	p.depth--
	p.labels = p.labels[:len(p.labels)-1]
	return out
}
