package meter

// globalType reads a global's value type and whether it is mutable.
func (r *reader) globalType() {
	r.valueType()
	at := r.pos
	switch m := r.byte(); {
	case m&2 != 0 && m < 4:
		r.unsupported(at, "shared global (shared-everything threads)")
	case m > 1:
		r.malformed(at, "mutability 0x%x does not exist", m)
	}
}

func (d *decoder) globalSection(r *reader) {
	n := r.count(d.lim.MaxGlobals-d.globals, "globals besides the imported ones")
	start := r.pos
	for range n {
		r.globalType()
		d.constant(r)
		if r.failed() {
			return
		}
	}
	d.globals += n
	d.writeGlobals(n, r.buf[start:r.pos])
}

// writeGlobals adds the counter to n defined globals: its index is d.globals.
func (d *decoder) writeGlobals(n int, entries []byte) {
	p := make([]byte, 0, len(entries)+20)
	p = append(appendU32(p, uint32(n+1)), entries...)
	p = append(p, byte(I64), 1, opI64Const)
	p = appendS64(p, d.lim.StartFuel)
	d.payload[secGlobal] = append(p, opEnd)
}

// constant reads a constant expression: one instruction and its end. Only imported globals may be read in it.
func (d *decoder) constant(r *reader) {
	at := r.pos
	switch op := r.byte(); op {
	case opI32Const:
		r.signed(32)
	case opI64Const:
		r.signed(64)
	case opF32Const:
		r.bytes(4)
	case opF64Const:
		r.bytes(8)
	case opGlobalGet:
		r.index(d.importedGlobals, "imported global")
	case opRefNull:
		r.referenceType()
	case opRefFunc:
		d.reference(r)
	case opPrefixVector:
		if r.byte() != vecConst {
			r.malformed(at, "a constant expression with a vector instruction other than v128.const")
		}
		r.bytes(16)
	case opPrefixGC:
		r.unsupported(at, "constant expression with opcode 0xfb (garbage collection)")
	default:
		r.malformed(at, "opcode 0x%x in a constant expression", op)
	}
	at = r.pos
	if op := r.byte(); r.err == nil && op != opEnd {
		r.unsupported(at, "constant expression of more than one instruction (extended constant expressions)")
	}
}
