package meter

import "pgregory.net/rapid"

// The random programs: always valid, always ending, because each takes a step of global 0 at every function entry and
// loop header, and leaves when there are none left. They may trap: divisions, accesses and calls are not all guarded.

const (
	programSteps = 300
	programPages = 1
)

// Type indices of a program. Functions have one of the first three.
const (
	typeVoid  = iota // () -> ()
	typeInt          // (i32) -> (i32)
	typePair         // (i32, i64) -> (i64, i32)
	typeLoop         // (i32) -> (i32): of loops and blocks
	typeSplit        // () -> (i32, i64): of blocks
	funcTypes = 3
)

var programTypes = [][]byte{
	void, i2i,
	funcType(types(I32, I64), types(I64, I32)),
	i2i,
	funcType(vec(), types(I32, I64)),
}

// Locals of every function, behind the parameters.
var programLocals = []ValueType{I32, I32, I64, I64, F64, V128, FuncRef}

// program draws the state of one function while it is written.
type program struct {
	t      *rapid.T
	funcs  []uint32 // type index of each function
	params []ValueType
	typ    uint32
	labels []bool // of the open blocks, innermost last: whether a branch takes nothing along
	depth  int
}

func (p *program) pick(n int) int { return rapid.IntRange(0, n-1).Draw(p.t, "") }

func (p *program) one(choices ...func() []byte) []byte { return choices[p.pick(len(choices))]() }

// local draws a local of type t.
func (p *program) local(t ValueType) []byte {
	var of []uint32
	for i, l := range append(p.params, programLocals...) {
		if l == t {
			of = append(of, uint32(i))
		}
	}
	return u32(of[p.pick(len(of))])
}

// build draws a program. Function 0 is exported as "run" and has type typePair.
func build(t *rapid.T) []byte {
	p := &program{t: t, funcs: []uint32{typePair}}
	for range p.pick(4) {
		p.funcs = append(p.funcs, uint32(p.pick(funcTypes)))
	}
	var declared, refs, bodies [][]byte
	for i, typ := range p.funcs {
		declared = append(declared, u32(typ))
		refs = append(refs, u32(uint32(i)))
		bodies = append(bodies, p.function(typ))
	}
	var all [][]byte
	for _, ft := range programTypes {
		all = append(all, ft)
	}
	return module(
		section(secType, all...),
		section(secFunction, declared...),
		section(secTable, cat(FuncRef, 1, 4, 40), cat(ExternRef, 0, 2)),
		section(secMemory, cat(0, programPages)),
		section(secGlobal, cat(I32, 1, i32c(programSteps), opEnd), cat(I64, 1, i64c(7), opEnd), cat(I32, 1, i32c(-3), opEnd)),
		section(secExport, export("run", KindFunction, 0), export("memory", KindMemory, 0),
			export("g0", KindGlobal, 0), export("g1", KindGlobal, 1), export("g2", KindGlobal, 2)),
		section(secElement, cat(0, i32c(0), opEnd, vec(refs[:min(4, len(refs))]...)), cat(1, 0, vec(refs...))),
		rawSection(secDataCount, 2),
		section(secCode, bodies...),
		section(secData, cat(0, i32c(100), opEnd, name("some data of the program")), cat(1, name("passive data"))),
	)
}

func (p *program) function(typ uint32) []byte {
	p.typ, p.labels, p.depth = typ, []bool{typ == typeVoid}, 0
	p.params = nil
	switch typ {
	case typeInt:
		p.params = []ValueType{I32}
	case typePair:
		p.params = []ValueType{I32, I64}
	}
	var groups [][]byte
	for _, l := range programLocals {
		groups = append(groups, cat(1, l))
	}
	guard := cat(step, opIf, blockEmpty, p.defaults(), 0x0f, opEnd)
	return fn(vec(groups...), guard, p.statements(6), p.results())
}

// step takes a step, and leaves on the stack whether there are none left.
var step = cat(opGlobalGet, 0, i32c(1), 0x6b, opGlobalSet, 0, opGlobalGet, 0, i32c(0), 0x48)

func (p *program) defaults() []byte {
	switch p.typ {
	case typeInt:
		return i32c(-1)
	case typePair:
		return cat(i64c(-1), i32c(-1))
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
