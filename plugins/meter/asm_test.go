package meter

import (
	"slices"
)

// The tests' assembler: bytes in, bytes out, nothing checked, so that it writes broken modules as well.

// cat joins bytes, given as untyped numbers, slices and strings.
func cat(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case ValueType:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		case string:
			out = append(out, p...)
		default:
			panic("cat: a part that is no byte")
		}
	}
	return out
}

func u32(v uint32) []byte { return appendU32(nil, v) }

func vec(entries ...[]byte) []byte {
	return append(u32(uint32(len(entries))), slices.Concat(entries...)...)
}

func rep(n int, b ...byte) []byte { return slices.Repeat(b, n) }

func name(s string) []byte { return appendName(nil, s) }

// section is a section of a vector of entries.
func section(id byte, entries ...[]byte) []byte { return appendSection(nil, id, vec(entries...)) }

func rawSection(id byte, parts ...any) []byte { return appendSection(nil, id, cat(parts...)) }

func module(sections ...[]byte) []byte {
	return cat(magic, version, slices.Concat(sections...))
}

func types(list ...ValueType) []byte {
	out := make([][]byte, len(list))
	for i, t := range list {
		out[i] = []byte{byte(t)}
	}
	return vec(out...)
}

func funcType(params, results []byte) []byte { return cat(0x60, params, results) }

// fn is a body: groups of locals as a vector, and instructions without the last end.
func fn(locals []byte, code ...any) []byte {
	return appendSized(nil, cat(locals, cat(code...), opEnd))
}

var noLocals = vec()

func export(as string, kind Kind, index uint32) []byte { return cat(name(as), int(kind), u32(index)) }

func i32c(v int32) []byte { return appendS64([]byte{opI32Const}, int64(v)) }
func i64c(v int64) []byte { return appendS64([]byte{opI64Const}, v) }

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
