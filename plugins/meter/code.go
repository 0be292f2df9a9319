package meter

// body is one function while it is decoded.
type body struct {
	d      *decoder
	locals int // parameters included: the first hidden one's index
	frames []frame
	points []point // where code is put, in order; the first is the function's entry
	loop   int     // the point of the innermost loop, 0 outside of loops
	total  int64   // units of the instructions so far
	joins  int     // blocks, and branches to them
	loops  int
	slow   int64       // us that the instructions take to compile which take long
	hides  []ValueType // types of the hidden locals, which follow the others; each is there once
}

// frame is a block that is open.
type frame struct {
	op    byte
	arity int // values that a branch to its label takes along
	outer int // the value of body.loop around it
}

// scratch is memory that the functions share, one after the other.
type scratch struct {
	frames []frame
	points []point
	code   []byte
}

func (d *decoder) codeSection(r *reader) {
	d.out.CodeBytes = r.remaining()
	at := r.pos
	n := r.count(len(r.buf), "bodies")
	if declared := len(d.functions) - d.importedFuncs; n > declared {
		r.malformed(at, "%d functions are declared, but %d have a body", declared, n)
		return
	}
	p := make([]byte, 0, r.remaining()+r.remaining()/4)
	p = appendU32(p, uint32(n))
	for i := range n {
		s := r.sub(r.u32())
		if r.failed() {
			return
		}
		s.function = d.importedFuncs + i
		d.about.body(s.function, s.remaining())
		p = d.function(s, p)
		if len(p) > 2*d.lim.MaxBytes {
			s.fail(ErrLimit, s.pos, "more than %d bytes of code with the charges", 2*d.lim.MaxBytes)
		}
		if r.err = s.err; r.failed() {
			return
		}
	}
	d.bodies = n
	d.payload[secCode] = p
}

// function decodes one body and appends it, metered, to p.
func (d *decoder) function(r *reader, p []byte) []byte {
	t := d.types[d.functions[r.function]]
	groups := r.pos
	f := &body{d: d, frames: d.scratch.frames[:0], points: d.scratch.points[:0]}
	f.locals = d.localGroups(r, len(t.params))
	code := r.pos
	f.frames = append(f.frames, frame{op: opBlock, arity: len(t.results)})
	f.points = append(f.points, point{at: code, kind: chargeFixed})
	for len(f.frames) > 0 && !r.failed() {
		f.instruction(r)
	}
	r.done("a body, after its end")
	if r.failed() {
		return p
	}
	f.points[0].units = max(minEntryUnits, f.total+int64(f.locals+len(t.results)))
	if f.points[0].units > int64(d.lim.MaxEntryUnits) {
		r.fail(ErrLimit, code, "a function of %d units of fuel, more than the limit of %d", f.points[0].units, d.lim.MaxEntryUnits)
		return p
	}
	if f.work(r, code); r.failed() {
		return p
	}
	out := f.appendLocals(d.scratch.code[:0], r.buf[groups:code])
	out = f.appendCode(out, r.buf, code, r.end)
	d.scratch = scratch{frames: f.frames, points: f.points, code: out}
	return appendSized(p, out)
}

// What compiling takes, in us.
const (
	slowFunction = 10 // an empty one
	slowCall     = 3
	slowTrap     = 6 // an operator that can trap
	slowNaN      = 2 // one that can make a NaN
)

// work bounds what a compiler spends on a function. The estimate is the worst shape's that was found for each part, in
// wazero on one core of a small machine: ordinary instructions are quick, and a join costs 10 us, and more the more of
// them there are, since they are looked at in pairs and in threes; a loop is one that is looked at most of all, and every
// local is carried through every join. A switch of 1,000 cases in a loop with 400 locals (18 KB) compiles for 2.6 s, 4,000
// loops (28 KB) for 6.7 s. What Go's compiler makes takes a sixth of its estimate.
func (f *body) work(r *reader, at int) {
	joins, loops, locals := int64(f.joins), int64(f.loops), int64(f.locals)
	work := slowFunction + f.total/4 + locals/8 + f.slow
	work += joins * (10 + (joins+joins*joins/3000)/40 + loops/5 + locals*3/2 + locals*locals/512)
	if work > int64(f.d.lim.MaxWork) {
		r.fail(ErrLimit, at, "%d instructions, %d blocks and branches, %d loops and %d locals would take up to %d ms to compile, more than the limit of %d: split the function",
			f.total, joins, loops, locals, work/1000, f.d.lim.MaxWork/1000)
		return
	}
	if f.d.work += int(work); f.d.work > f.d.lim.MaxModuleWork {
		r.fail(ErrLimit, at, "the functions so far would take up to %d ms to compile, more than the limit of %d: link less into the module", f.d.work/1000, f.d.lim.MaxModuleWork/1000)
	}
}

// localGroups reads the declarations of locals, and returns their number with the parameters'.
func (d *decoder) localGroups(r *reader, params int) int {
	at := r.pos
	total := int64(params)
	for range r.count(len(r.buf), "groups of locals") {
		total += int64(r.u32())
		r.valueType()
		if r.failed() {
			return 0
		}
	}
	if total > int64(d.lim.MaxLocals) {
		r.fail(ErrLimit, at, "%d locals, more than the limit of %d", total, d.lim.MaxLocals)
		return 0
	}
	if d.moduleLocals += int(total); d.moduleLocals > d.lim.MaxModuleLocals {
		r.fail(ErrLimit, at, "%d locals in the functions so far, more than the limit of %d", d.moduleLocals, d.lim.MaxModuleLocals)
	}
	return int(total)
}

// count adds an instruction that moves so many values; it costs one unit at least.
func (f *body) count(values int) {
	units := int64(max(values, 1))
	f.total += units
	f.points[f.loop].units += units
}

func (f *body) open(r *reader, at int, op byte) {
	if len(f.frames) > f.d.lim.MaxNesting {
		r.fail(ErrLimit, at, "blocks nested more than %d deep", f.d.lim.MaxNesting)
		return
	}
	f.joins++
	params, results := f.blockType(r)
	f.count(max(params, results))
	top := frame{op: op, arity: results, outer: f.loop}
	if op == opLoop {
		top.arity = params
		f.loops++
		f.loop = len(f.points)
		f.points = append(f.points, point{at: r.pos, kind: chargeFixed})
	}
	f.frames = append(f.frames, top)
}

func (f *body) close() {
	last := len(f.frames) - 1
	f.count(1)
	f.loop = f.frames[last].outer
	f.frames = f.frames[:last]
}

// blockType reads a block's type, and returns the numbers of its parameters and results.
func (f *body) blockType(r *reader) (params, results int) {
	at := r.pos
	if at < r.end && r.buf[at] == blockEmpty {
		r.byte()
		return 0, 0
	}
	if at < r.end && isValueType(r.buf[at]) {
		r.byte()
		return 0, 1
	}
	i := r.signed(33)
	switch {
	case r.failed():
		return 0, 0
	case i < 0:
		r.badType(at, r.buf[at])
		return 0, 0
	case i >= int64(len(f.d.types)):
		r.malformed(at, "type %d does not exist: there are %d", i, len(f.d.types))
		return 0, 0
	}
	return len(f.d.types[i].params), len(f.d.types[i].results)
}
