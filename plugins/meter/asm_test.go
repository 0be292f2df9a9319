package meter

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins/internal/wasmasm"
)

// The tests' assembler, by short names.
var (
	cat, u32, vec, name  = wasmasm.Cat, wasmasm.U32, wasmasm.Vec, wasmasm.Name
	section, rawSection  = wasmasm.Section, wasmasm.RawSection
	module, funcType, fn = wasmasm.Module, wasmasm.FuncType, wasmasm.Fn
	types, export        = wasmasm.Types[ValueType], wasmasm.Export[Kind]
	i32c, i64c           = wasmasm.I32, wasmasm.I64
	noLocals             = vec()
)

func rep(n int, b ...byte) []byte { return slices.Repeat(b, n) }

// void is the type () -> (), and i the type (i32) -> (i32).
var (
	void = funcType(vec(), vec())
	i2i  = funcType(types(I32), types(I32))
)

// one is a module with the function "run" of type t alone, beside the sections given, which must come in order.
func one(t, body []byte, before, after [][]byte) []byte {
	s := [][]byte{section(secType, t), section(secFunction, u32(0))}
	s = append(s, before...)
	s = append(s, section(secExport, export("run", KindFunction, 0)))
	s = append(s, after...)
	return module(append(s, section(secCode, body))...)
}

// plain is a module with only a function "run" of type () -> ().
func plain(locals []byte, code ...any) []byte { return one(void, fn(locals, code...), nil, nil) }

// withMemory is plain with a memory of 1 to 16 pages, 2 passive data segments, and a table of 10 to 1,000 elements.
func withMemory(code ...any) []byte {
	return module(
		section(secType, void),
		section(secFunction, u32(0)),
		section(secTable, cat(FuncRef, 1, u32(10), u32(1000))),
		section(secMemory, cat(1, 1, 16)),
		section(secExport, export("run", KindFunction, 0), export("memory", KindMemory, 0)),
		section(secElement, cat(1, 0, vec(u32(0), u32(0), u32(0)))),
		rawSection(secDataCount, 1),
		section(secCode, fn(vec(), code...)),
		section(secData, cat(1, appendSized(nil, rep(640, 7)))),
	)
}
