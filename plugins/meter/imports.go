package meter

// Kind says what an import or export is, by its encoding.
type Kind byte

// The kinds. A module may export any of them, and import functions and globals.
const (
	KindFunction Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

// String gives the text format's name.
func (k Kind) String() string {
	switch k {
	case KindFunction:
		return "func"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	}
	return "unknown"
}

// Import is something that the module wants from the host. That the host offers it is for the host to check.
type Import struct {
	Module, Name string
	Kind         Kind
	Signature    Signature // of a function
}

func (d *decoder) importSection(r *reader) {
	n := r.count(d.lim.MaxImports, "imports")
	d.out.Imports = make([]Import, 0, n)
	for range n {
		d.oneImport(r)
		if r.failed() {
			return
		}
	}
	d.importedFuncs = len(d.functions)
	d.importedGlobals = d.globals
	if len(d.functions) > d.lim.MaxFunctions || d.globals > d.lim.MaxGlobals {
		r.fail(ErrLimit, r.pos, "%d functions and %d globals are imported, the limits are %d and %d",
			len(d.functions), d.globals, d.lim.MaxFunctions, d.lim.MaxGlobals)
	}
}

func (d *decoder) oneImport(r *reader) {
	im := Import{Module: r.name(), Name: r.name()}
	at := r.pos
	im.Kind = Kind(r.byte())
	switch im.Kind {
	case KindFunction:
		d.functions = append(d.functions, r.index(len(d.types), "type"))
		if !r.failed() {
			im.Signature = d.signature(uint32(len(d.functions) - 1))
		}
	case KindGlobal:
		r.globalType()
		d.globals++
	case KindTable, KindMemory:
		r.unsupported(at, "imported %v %q %q: its size can not be bounded here, so a module must define its own",
			im.Kind, im.Module, im.Name)
	case 4:
		r.unsupported(at, "imported tag %q %q (exception handling)", im.Module, im.Name)
	default:
		r.malformed(at, "import kind %d does not exist", im.Kind)
	}
	d.out.Imports = append(d.out.Imports, im)
}
