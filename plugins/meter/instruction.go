package meter

// instruction reads one instruction, checks its indices, and counts it.
func (f *body) instruction(r *reader) {
	at := r.pos
	op := r.byte()
	if r.failed() {
		return
	}
	imm := immediates[op]
	if imm >= immBlock {
		f.branching(r, at, op)
		return
	}
	f.count(1)
	switch imm {
	case immNone:
		if traps(op) {
			f.slow += slowTrap
		}
		f.canonicalise(r, makesNaN[op])
	case immLocal:
		r.index(f.locals, "local")
	case immGlobal:
		r.index(f.d.globals, "global")
	case immI32:
		r.signed(32)
	case immI64:
		r.signed(64)
	case immMemory:
		f.memoryAccess(r)
	case immMisc:
		f.misc(r, at)
	case immVector:
		f.vector(r)
	case immUnknown:
		unknown(r, at, op)
	default:
		f.other(r, at, op)
	}
}

// traps reports whether an operator can trap: the divisions of integers, and what makes integers of floats.
func traps(op byte) bool {
	return op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82 || op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1
}

func unknown(r *reader, at int, op byte) {
	if name := refused[op]; name != "" {
		r.unsupported(at, "%s", name)
		return
	}
	r.malformed(at, "opcode 0x%x does not exist", op)
}

// branching reads what opens and ends blocks, and what leaves them or the function. It counts the values that move with it.
func (f *body) branching(r *reader, at int, op byte) {
	switch immediates[op] {
	case immBlock:
		f.open(r, at, op)
	case immElse:
		f.joins++
		f.count(1)
		if top := &f.frames[len(f.frames)-1]; top.op == opIf {
			top.op = opElse
			return
		}
		r.malformed(at, "else without if")
	case immEnd:
		f.close()
	case immReturn:
		f.count(f.frames[0].arity)
	case immLabel:
		f.count(f.label(r))
	case immLabels:
		for range r.count(len(r.buf), "targets") {
			if f.label(r); r.failed() {
				return
			}
		}
		f.count(f.label(r))
	case immCall:
		f.slow += slowCall
		if i := r.index(len(f.d.functions), "function"); !r.failed() {
			f.count(len(f.d.types[f.d.functions[i]].results))
			f.d.about.call(r.function, i)
		}
	case immCallIndirect:
		f.slow += slowCall
		i := r.index(len(f.d.types), "type")
		if r.index(f.d.tables, "table"); !r.failed() {
			f.count(len(f.d.types[i].results))
			f.d.about.callIndirect(r.function, i)
		}
	}
}

// label reads a label, and returns the number of values that a branch to it takes along.
func (f *body) label(r *reader) int {
	f.joins++
	i := r.index(len(f.frames), "label")
	if r.failed() {
		return 0
	}
	return f.frames[len(f.frames)-1-int(i)].arity
}

// other reads what is rare.
func (f *body) other(r *reader, at int, op byte) {
	switch immediates[op] {
	case immF32:
		r.bytes(4)
	case immF64:
		r.bytes(8)
	case immTable:
		r.index(f.d.tables, "table")
	case immFunction:
		f.d.reference(r)
	case immRefNull:
		r.referenceType()
	case immSelect:
		if n := r.byte(); n != 1 {
			r.malformed(at, "select with %d types", n)
		}
		r.valueType()
	case immMemoryIndex:
		f.memoryIndex(r)
		if op == opMemoryGrow {
			f.charge(at, chargePages)
		}
	}
}

// memoryIndex reads the index of the only memory.
func (f *body) memoryIndex(r *reader) {
	if f.d.memories == 0 {
		r.malformed(r.pos, "a memory instruction, but no memory")
	}
	r.zero()
}

func (f *body) memoryAccess(r *reader) {
	at := r.pos
	if f.d.memories == 0 {
		r.malformed(at, "a memory instruction, but no memory")
	}
	switch align := r.u32(); {
	case align&^0x3f == 0x40:
		r.unsupported(at, "memory access with a memory index (multi-memory)")
	case align >= 32:
		r.malformed(at, "alignment 2^%d", align)
	}
	r.u32()
}
