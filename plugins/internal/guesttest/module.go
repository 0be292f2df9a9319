// Package guesttest builds small policies, well-behaved and hostile, for the tests of the policy host and its runtimes.
// It is an assembler for the few instructions that such policies need, and checks nothing.
//
//	wasm := guesttest.Policy(guesttest.Hook(abi.ExportAdmit, guesttest.Forever(), guesttest.I32(0)))
package guesttest

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/wasmasm"
)

// Where a policy's buffers are. What lies from Free on is the test's.
const (
	DescriptorPtr = 16
	StatePtr      = 1024
	RowsPtr       = 4096
	OutPtr        = 65536
	ConfigPtr     = 81920
	EventsPtr     = 90112
	Free          = 98304
	configCap     = 4096
)

// Module is a policy in the making.
type Module struct {
	Hooks      abi.Hook              // declared; 0 = those of Funcs
	Descriptor func(*abi.Descriptor) // changes it; nil for none
	NoMarker   bool
	Imports    []Func // Export holds "module.name"
	Funcs      []Func // their indices follow the imports'
	Start      Code   // of the start function; nil for none
	MinPages   uint32 // 0 = 2
	MaxPages   uint32 // 0 = none
	Data       string // at Free
	Named      bool   // with a name section: functions are called as their exports, with a $ before
}

// Func is a function. Its locals are three i32 after the parameters, then three i64.
type Func struct {
	Export          string
	Params, Results string // one letter a value: i for i32, l for i64
	Code            Code
}

// Hook is one function of the ABI.
func Hook(export string, code ...Code) Func {
	f := Func{Export: export, Params: "i", Results: "i", Code: Seq(code...)}
	switch export {
	case abi.ExportBatchCap:
		f.Params = ""
	case abi.ExportSave:
		f.Params, f.Results = "", "l"
	}
	return f
}

// Policy is a module of nothing but hooks.
func Policy(funcs ...Func) []byte { return Module{Funcs: funcs}.Bytes() }

// HookOf is the bit of an export.
func HookOf(export string) abi.Hook {
	return map[string]abi.Hook{
		abi.ExportConfigure: abi.HookConfigure, abi.ExportAdmit: abi.HookAdmit, abi.ExportPrioritize: abi.HookPrioritize,
		abi.ExportBatchCap: abi.HookBatchCap, abi.ExportSpeculate: abi.HookSpeculate, abi.ExportEvents: abi.HookEvents,
		abi.ExportSave: abi.HookState, abi.ExportRestore: abi.HookState,
	}[export]
}

func (m Module) descriptor() []byte {
	d := abi.Descriptor{
		Magic: abi.Magic, Major: abi.Major, Minor: abi.Minor, Hooks: uint32(m.Hooks),
		StatePtr: StatePtr, StateCap: abi.StateSize, RowsPtr: RowsPtr, RowsCap: abi.RowSize * abi.MaxRows, RowStride: abi.RowSize,
		OutPtr: OutPtr, OutCap: abi.VerdictSize * abi.MaxRows, ConfigPtr: ConfigPtr, ConfigCap: configCap,
		EventsPtr: EventsPtr, EventsCap: abi.EventSize * abi.MaxRows,
	}
	if m.Hooks == 0 {
		for _, f := range m.Funcs {
			d.Hooks |= uint32(HookOf(f.Export))
		}
	}
	if m.Descriptor != nil {
		m.Descriptor(&d)
	}
	return slices.Clone(abi.Bytes(&d))
}

// Bytes assembles the module.
func (m Module) Bytes() []byte {
	funcs := slices.Clone(m.Funcs)
	if !m.NoMarker {
		funcs = append(funcs, Func{Export: abi.ExportMarker, Results: "i", Code: I32(DescriptorPtr)})
	}
	if m.Start != nil {
		funcs = append(funcs, Func{Code: m.Start})
	}
	var types, imports, decls, exports, bodies [][]byte
	for i, f := range slices.Concat(m.Imports, funcs) {
		types = append(types, cat([]byte{0x60}, valueTypes(f.Params), valueTypes(f.Results)))
		if i < len(m.Imports) {
			mod, name, _ := cut(f.Export)
			imports = append(imports, cat(str(mod), str(name), []byte{0}, unsigned(uint32(i))))
			continue
		}
		decls = append(decls, unsigned(uint32(i)))
		if f.Export != "" {
			exports = append(exports, cat(str(f.Export), []byte{0}, unsigned(uint32(i))))
		}
		body := cat([]byte{2, 3, 0x7f, 3, 0x7e}, f.Code, []byte{0x0b})
		bodies = append(bodies, cat(unsigned(uint32(len(body))), body))
	}
	exports = append(exports, cat(str(abi.ExportMemory), []byte{2, 0}))
	memory := cat([]byte{0}, unsigned(max(m.MinPages, 2)))
	if m.MaxPages > 0 {
		memory = cat([]byte{1}, unsigned(max(m.MinPages, 2)), unsigned(m.MaxPages))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, vec(1, types...)...)
	out = append(out, vec(2, imports...)...)
	out = append(out, vec(3, decls...)...)
	out = append(out, vec(5, memory)...)
	out = append(out, vec(7, exports...)...)
	if m.Start != nil {
		out = append(out, section(8, unsigned(uint32(len(m.Imports)+len(funcs)-1)))...)
	}
	out = append(out, vec(10, bodies...)...)
	data := [][]byte{segment(DescriptorPtr, m.descriptor())}
	if m.Data != "" {
		data = append(data, segment(Free, []byte(m.Data)))
	}
	out = append(out, vec(11, data...)...)
	if m.Named {
		out = append(out, m.names(slices.Concat(m.Imports, funcs))...)
	}
	return out
}

func (m Module) names(funcs []Func) []byte {
	list := unsigned(uint32(len(funcs)))
	for i, f := range funcs {
		list = cat(list, unsigned(uint32(i)), str("$"+f.Export))
	}
	return section(0, cat(str("name"), section(1, list)))
}

func segment(addr int32, data []byte) []byte {
	return cat([]byte{0}, I32(addr), []byte{0x0b}, unsigned(uint32(len(data))), data)
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func str(s string) []byte { return wasmasm.Name(s) }

func cut(s string) (before, after string, ok bool) {
	for i := range s {
		if s[i] == '.' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func valueTypes(letters string) []byte {
	b := unsigned(uint32(len(letters)))
	for _, c := range letters {
		t := byte(0x7f)
		if c == 'l' {
			t = 0x7e
		}
		b = append(b, t)
	}
	return b
}

func section(id byte, body []byte) []byte { return wasmasm.RawSection(id, body) }

func vec(id byte, entries ...[]byte) []byte {
	if len(entries) == 0 {
		return nil
	}
	return wasmasm.Section(id, entries...)
}
