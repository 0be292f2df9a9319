package meter

// limits is the size of a memory or table: its smallest, and its largest when hasMax.
type limits struct {
	min, max uint32
	hasMax   bool
}

func (r *reader) limits(what string) (l limits) {
	at := r.pos
	switch flag := r.byte(); {
	case flag >= 16:
		r.malformed(at, "limits flag 0x%x does not exist", flag)
	case flag&8 != 0:
		r.unsupported(at, "%s with its own page size (custom page sizes)", what)
	case flag&4 != 0:
		r.unsupported(at, "%s with 64-bit addresses (memory64)", what)
	case flag&2 != 0:
		r.unsupported(at, "shared %s (threads)", what)
	default:
		l.hasMax = flag == 1
	}
	l.min = r.u32()
	if l.hasMax {
		at = r.pos
		if l.max = r.u32(); l.max < l.min {
			r.malformed(at, "a %s of at least %d and at most %d", what, l.min, l.max)
		}
	}
	return l
}

// clamp bounds the largest size by limit, and refuses a smallest one above it.
func (l *limits) clamp(r *reader, at int, limit uint32, what string) {
	if l.min > limit {
		r.fail(ErrLimit, at, "a %s that starts with %d, more than the limit of %d", what, l.min, limit)
	}
	if !l.hasMax || l.max > limit {
		l.max, l.hasMax = limit, true
	}
}

func (l *limits) append(b []byte) []byte {
	return appendU32(appendU32(append(b, 1), l.min), l.max)
}

func (d *decoder) memorySection(r *reader) {
	at := r.pos
	n := r.u32()
	if n > 1 {
		r.unsupported(at, "%d memories (multi-memory)", n)
	}
	if n == 0 || r.failed() {
		return
	}
	at = r.pos
	l := r.limits("memory")
	if l.min > maxPages || l.max > maxPages {
		r.malformed(at, "a memory of %d to %d pages, more than 32 bits address", l.min, l.max)
	}
	l.clamp(r, at, d.lim.MaxMemoryPages, "memory (in pages)")
	d.memories = 1
	d.out.MemoryMin, d.out.MemoryMax = l.min, l.max
	d.payload[secMemory] = l.append([]byte{1})
}

func (d *decoder) tableSection(r *reader) {
	n := r.count(d.lim.MaxTables, "tables")
	p := appendU32(nil, uint32(n))
	for range n {
		at := r.pos
		if r.pos < r.end && r.buf[r.pos] == 0x40 {
			r.unsupported(at, "table with an initial value (typed function references)")
		}
		p = append(p, r.referenceType())
		l := r.limits("table")
		l.clamp(r, at, uint32(d.lim.MaxTableElements), "table (in elements)")
		if r.failed() {
			return
		}
		p = l.append(p)
	}
	d.tables = n
	d.payload[secTable] = p
}
