package meter

import (
	"bytes"
	"slices"
)

// Description is what a module says about itself without being run. It shares nothing with the input.
type Description struct {
	Imports  []Import
	Exports  []Export
	Sections []Section // in the order of the binary

	MemoryMin, MemoryMax uint32 // in pages of 64 KiB; the limit where the module declares no maximum, 0 without a memory

	Functions []Function // by index, imported ones first
	Imported  int        // so many of them are imported
	Data      [][]byte   // what its data segments hold

	graph graph
}

// Section is one section of a binary.
type Section struct {
	Name  string // as in the specification; of a custom section its own
	Bytes int
	Body  []byte // of a custom section, behind its name; nil for all others
}

// Function is one function of a module.
type Function struct {
	Name  string // of an import or an export, else from the name section; "" when there is none
	Bytes int    // of its body; 0 for an imported one
}

// Describe decodes a module as Rewrite does, under the same limits and with the same errors, and describes it. Any
// goroutine may call it.
func Describe(wasm []byte, lim Limits) (*Description, error) {
	if err := lim.check(); err != nil {
		return nil, err
	}
	s := &survey{bodies: map[int]int{}, exports: map[uint32]string{}}
	d := &decoder{lim: &lim, dataCount: -1, out: &Module{}, about: s}
	if err := d.decode(wasm); err != nil {
		return nil, err
	}
	out := &Description{
		Imports: d.out.Imports, Exports: d.out.Exports, Sections: s.sections, MemoryMin: d.out.MemoryMin, MemoryMax: d.out.MemoryMax,
		Functions: make([]Function, len(d.functions)), Imported: d.importedFuncs, Data: s.segments,
	}
	d.nameFunctions(out.Functions)
	for i, n := range s.bodies {
		out.Functions[i].Bytes = n
	}
	out.graph = d.graph()
	return out, nil
}

// nameFunctions uses the name section where it is well formed, then the exports, then the imports.
func (d *decoder) nameFunctions(functions []Function) {
	if content := d.nameContent(); content != nil {
		r := &reader{buf: content, end: len(content), function: -1}
		for range r.u32() {
			i := r.u32()
			functions[i].Name = r.name()
		}
	}
	for i, name := range d.about.exports {
		if functions[i].Name == "" {
			functions[i].Name = name
		}
	}
	i := 0
	for _, im := range d.out.Imports {
		if im.Kind == KindFunction {
			functions[i].Name = im.Module + "." + im.Name
			i++
		}
	}
}

// survey notes what Rewrite does not need. All its methods may be called on nil, and then do nothing.
type survey struct {
	sections []Section
	bodies   map[int]int // bytes by function
	exports  map[uint32]string
	segments [][]byte

	calls      []edge
	indirect   []edge // to a type
	referenced []uint32
}

// edge is one call.
type edge struct{ from, to uint32 }

var sectionNames = [...]string{
	secCustom: "custom", secType: "type", secImport: "import", secFunction: "function", secTable: "table", secMemory: "memory",
	secGlobal: "global", secExport: "export", secStart: "start", secElement: "element", secCode: "code", secData: "data",
	secDataCount: "data count",
}

func (s *survey) section(id byte, r *reader) {
	if s == nil || int(id) >= len(sectionNames) {
		return
	}
	at := Section{Name: sectionNames[id], Bytes: r.remaining()}
	if id == secCustom {
		c := &reader{buf: r.buf, pos: r.pos, end: r.end, function: -1}
		if name := c.name(); !c.failed() {
			at.Name, at.Body = name, bytes.Clone(c.buf[c.pos:c.end])
		}
	}
	s.sections = append(s.sections, at)
}

func (s *survey) body(function, size int) {
	if s != nil {
		s.bodies[function] = size
	}
}

func (s *survey) export(name string, function uint32) {
	if s != nil {
		s.exports[function] = name
	}
}

func (s *survey) data(segment []byte) {
	if s != nil {
		s.segments = append(s.segments, bytes.Clone(segment))
	}
}

func (s *survey) call(from int, to uint32) {
	if s != nil {
		s.calls = append(s.calls, edge{uint32(from), to})
	}
}

func (s *survey) callIndirect(from int, typ uint32) {
	if s != nil {
		s.indirect = append(s.indirect, edge{uint32(from), typ})
	}
}

func (s *survey) reference(function uint32) {
	if s != nil {
		s.referenced = append(s.referenced, function)
	}
}

// Exported is the index of the function that is exported under that name; false when there is none.
func (d *Description) Exported(name string) (uint32, bool) {
	i := slices.IndexFunc(d.Exports, func(e Export) bool { return e.Name == name && e.Kind == KindFunction })
	if i < 0 {
		return 0, false
	}
	return d.Exports[i].index, true
}
