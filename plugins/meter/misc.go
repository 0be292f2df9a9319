package meter

// misc reads the rest of an instruction with the prefix 0xfc.
func (f *body) misc(r *reader, at int) {
	op := r.byte() // below 0x80: a padded opcode is unknown here
	d := f.d
	switch {
	case op <= miscTruncSatLast:
	case op == miscMemoryInit:
		f.dataIndex(r)
		f.memoryIndex(r)
		f.charge(at, chargeBytes)
	case op == miscDataDrop:
		f.dataIndex(r)
	case op == miscMemoryCopy:
		f.memoryIndex(r)
		f.memoryIndex(r)
		f.charge(at, chargeBytes)
	case op == miscMemoryFill:
		f.memoryIndex(r)
		f.charge(at, chargeBytes)
	case op == miscTableInit:
		r.index(d.elements, "element segment")
		r.index(d.tables, "table")
		f.charge(at, chargeElements)
	case op == miscElemDrop:
		r.index(d.elements, "element segment")
	case op == miscTableCopy:
		r.index(d.tables, "table")
		r.index(d.tables, "table")
		f.charge(at, chargeElements)
	case op == miscTableGrow || op == miscTableFill:
		r.index(d.tables, "table")
		f.charge(at, chargeElements)
	case op == miscTableSize:
		r.index(d.tables, "table")
	default:
		unknownMisc(r, at, op)
	}
}

func (f *body) dataIndex(r *reader) {
	if f.d.dataCount < 0 {
		r.malformed(r.pos, "a data segment is named, but no data count section announces them")
	}
	r.index(f.d.dataCount, "data segment")
}

func unknownMisc(r *reader, at int, op byte) {
	switch {
	case op == 0x12:
		r.unsupported(at, "memory.discard (memory control)")
	case op >= 0x13 && op <= 0x16:
		r.unsupported(at, "opcode 0xfc 0x%x (wide arithmetic)", op)
	case op >= 0x80:
		r.unsupported(at, "opcode 0xfc 0x%x: in a padded encoding, or of an unknown proposal", op)
	default:
		r.malformed(at, "opcode 0xfc 0x%x does not exist", op)
	}
}
