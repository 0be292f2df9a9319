package meter

// elementSection reads element segments. The flag's bits: 1 = passive or declarative, 2 = has a table index (active) or
// is declarative, 4 = its elements are expressions, not function indices.
func (d *decoder) elementSection(r *reader) {
	n := r.count(d.lim.MaxSegments, "element segments")
	for range n {
		at := r.pos
		flag := r.u32()
		if flag > 7 {
			r.malformed(at, "element segment flag 0x%x does not exist", flag)
		}
		if flag&1 == 0 {
			if flag&2 != 0 {
				r.index(d.tables, "table")
			} else if d.tables == 0 {
				r.malformed(at, "an element segment, but no table")
			}
			d.constant(r)
		}
		d.elementList(r, flag)
		if r.failed() {
			return
		}
	}
	d.elements = n
}

func (d *decoder) elementList(r *reader, flag uint32) {
	expressions := flag&4 != 0
	if flag&3 != 0 { // flags 0 and 4 imply funcref
		at := r.pos
		if expressions {
			r.referenceType()
		} else if kind := r.byte(); kind != 0 {
			r.malformed(at, "element kind 0x%x does not exist", kind)
		}
	}
	for range r.count(len(r.buf), "elements") {
		if expressions {
			d.constant(r)
		} else {
			d.reference(r)
		}
		if r.failed() {
			return
		}
	}
}

func (d *decoder) dataSection(r *reader) {
	n := r.count(d.lim.MaxSegments, "data segments")
	for range n {
		at := r.pos
		flag := r.u32()
		switch {
		case flag > 2:
			r.malformed(at, "data segment flag 0x%x does not exist", flag)
		case flag == 1:
		case d.memories == 0:
			r.malformed(at, "a data segment, but no memory")
		default:
			if flag == 2 {
				r.zero()
			}
			d.constant(r)
		}
		bytes := r.bytes(r.u32())
		if r.failed() {
			return
		}
		d.about.data(bytes)
	}
	d.dataSegments = n
}

// reference reads the index of a function that is not called here: it may be called through a table.
func (d *decoder) reference(r *reader) {
	if i := r.index(len(d.functions), "function"); !r.failed() {
		d.about.reference(i)
	}
}
