package meter

// Export is something that the module offers.
type Export struct {
	Name      string
	Kind      Kind
	Signature Signature // of a function
	index     uint32    // of a function
}

func (d *decoder) exportSection(r *reader) {
	n := r.count(d.lim.MaxExports, "exports")
	start := r.pos
	names := make(map[string]bool, n)
	d.out.Exports = make([]Export, 0, n)
	for range n {
		at := r.pos
		e := d.oneExport(r)
		switch {
		case r.failed():
			return
		case e.Name == FuelExport:
			r.unsupported(at, "export %q: the name belongs to the fuel counter", e.Name)
		case names[e.Name]:
			r.malformed(at, "export %q is there twice", e.Name)
		}
		names[e.Name] = true
		d.out.Exports = append(d.out.Exports, e)
	}
	d.writeExports(n, r.buf[start:r.pos])
}

func (d *decoder) oneExport(r *reader) Export {
	e := Export{Name: r.name()}
	at := r.pos
	e.Kind = Kind(r.byte())
	switch e.Kind {
	case KindFunction:
		i := r.index(len(d.functions), "function")
		if !r.failed() {
			e.Signature, e.index = d.signature(i), i
			d.about.export(e.Name, i)
		}
	case KindTable:
		r.index(d.tables, "table")
	case KindMemory:
		r.index(d.memories, "memory")
	case KindGlobal:
		r.index(d.globals, "global")
	case 4:
		r.unsupported(at, "exported tag %q (exception handling)", e.Name)
	default:
		r.malformed(at, "export kind %d does not exist", e.Kind)
	}
	return e
}

// writeExports adds the counter to n exports.
func (d *decoder) writeExports(n int, entries []byte) {
	p := make([]byte, 0, len(entries)+len(FuelExport)+12)
	p = append(appendU32(p, uint32(n+1)), entries...)
	p = append(appendName(p, FuelExport), byte(KindGlobal))
	d.payload[secExport] = appendU32(p, uint32(d.globals))
}
