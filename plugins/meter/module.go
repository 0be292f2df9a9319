package meter

// The sections' ids.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	secTag
	secCount = secTag
)

// sectionOrder is the order in which sections stand in a binary, each at most once.
var sectionOrder = [...]byte{
	secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount,
	secCode, secData,
}

// signature is a function type. Its slices are views of the input.
type signature struct{ params, results []byte }

// decoder holds the original's index spaces, which every index is checked against, and the sections to write.
type decoder struct {
	lim *Limits
	out *Module

	types           []signature
	functions       []uint32 // type indices, imports first
	importedFuncs   int
	globals         int // the hidden one's index
	importedGlobals int
	tables          int
	memories        int
	elements        int
	dataCount       int // as announced before the code; -1 when it was not
	dataSegments    int
	bodies          int
	moduleLocals    int
	work            int // of the functions so far

	payload [secCount][]byte // what is written, by section id; nil when there is none
	seen    [secCount]bool
	names   *reader // the first name section
	about   *survey // what Describe wants to know; nil for Rewrite
	scratch scratch
}

func (d *decoder) sections(r *reader) {
	next := 0 // place in sectionOrder
	for r.remaining() > 0 && !r.failed() {
		at := r.pos
		id := r.byte()
		s := r.sub(r.u32())
		if r.failed() {
			return
		}
		d.about.section(id, s)
		switch {
		case id == secCustom:
			d.custom(s)
		case id == secTag:
			s.unsupported(at, "tag section (exception handling)")
		case id > secTag:
			s.malformed(at, "section %d does not exist", id)
		default:
			for next < len(sectionOrder) && sectionOrder[next] != id {
				next++
			}
			if next == len(sectionOrder) {
				s.malformed(at, "section %d is out of order, or there twice", id)
			}
			next++
			d.section(s, id)
		}
		r.err = s.err
	}
}

func (d *decoder) section(r *reader, id byte) {
	d.seen[id] = true
	d.payload[id] = r.buf[r.pos:r.end] // unless the section's own function replaces it
	switch id {
	case secType:
		d.typeSection(r)
	case secImport:
		d.importSection(r)
	case secFunction:
		d.functionSection(r)
	case secTable:
		d.tableSection(r)
	case secMemory:
		d.memorySection(r)
	case secGlobal:
		d.globalSection(r)
	case secExport:
		d.exportSection(r)
	case secStart:
		if i := r.index(len(d.functions), "function"); !r.failed() {
			d.about.export("start", i)
		}
	case secElement:
		d.elementSection(r)
	case secDataCount:
		d.dataCount = int(r.u32())
	case secCode:
		d.codeSection(r)
	case secData:
		d.dataSection(r)
	}
	r.done("a section")
}

// finish checks what only the whole module shows, and adds the sections that the rewrite needs and the original lacks.
func (d *decoder) finish(r *reader) {
	if r.failed() {
		return
	}
	if defined := len(d.functions) - d.importedFuncs; d.bodies != defined {
		r.malformed(r.pos, "%d functions are declared, but %d have a body", defined, d.bodies)
	}
	if d.dataCount >= 0 && d.dataSegments != d.dataCount {
		r.malformed(r.pos, "%d data segments are announced, but there are %d", d.dataCount, d.dataSegments)
	}
	if !d.seen[secGlobal] {
		d.writeGlobals(0, nil)
	}
	if !d.seen[secExport] {
		d.writeExports(0, nil)
	}
	d.out.Functions = d.bodies
}

func (d *decoder) encode() []byte {
	size := len(magic) + len(version)
	for _, p := range d.payload {
		size += len(p) + 6
	}
	names := d.functionNames()
	out := make([]byte, 0, size+len(names)+16)
	out = append(append(out, magic...), version...)
	for _, id := range sectionOrder {
		if d.payload[id] != nil {
			out = appendSection(out, id, d.payload[id])
		}
	}
	if names != nil {
		out = appendSection(out, secCustom, names)
	}
	return out
}
