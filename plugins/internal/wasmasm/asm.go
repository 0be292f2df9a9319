// Package wasmasm assembles small WebAssembly modules, most of them for tests: bytes in, bytes out. Nothing is checked, so
// that it writes broken modules as well.
//
//	wasm := wasmasm.Module(
//		wasmasm.Section(wasmasm.SecType, wasmasm.FuncType(wasmasm.Vec(), wasmasm.Vec())),
//		wasmasm.Section(wasmasm.SecFunction, wasmasm.U32(0)),
//		wasmasm.Section(wasmasm.SecCode, wasmasm.Fn(wasmasm.Vec(), 0x01)), // nop
//	)
package wasmasm

import (
	"encoding/binary"
	"reflect"
	"slices"
)

// The sections' numbers.
const (
	SecType = iota + 1
	SecImport
	SecFunction
	SecTable
	SecMemory
	SecGlobal
	SecExport
	SecStart
	SecElement
	SecCode
	SecData
	SecDataCount
)

const end = 0x0b

// Cat joins bytes, given as untyped numbers, slices, strings, and values whose type is a byte.
func Cat(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		case string:
			out = append(out, p...)
		default:
			v := reflect.ValueOf(p)
			if v.Kind() != reflect.Uint8 {
				panic("wasmasm.Cat: a part that is no byte")
			}
			out = append(out, byte(v.Uint()))
		}
	}
	return out
}

// U32 and S64 are numbers in LEB128.
func U32(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func S64(v int64) (b []byte) {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// I32 and I64 are instructions: constants.
func I32(v int32) []byte { return Cat(0x41, S64(int64(v))) }
func I64(v int64) []byte { return Cat(0x42, S64(v)) }

// Vec is entries with their number before them, Sized bytes with their length, and Name text with its length.
func Vec(entries ...[]byte) []byte { return Cat(U32(uint32(len(entries))), slices.Concat(entries...)) }
func Sized(b []byte) []byte        { return Cat(U32(uint32(len(b))), b) }
func Name(s string) []byte         { return Sized([]byte(s)) }

// Section is a section of a vector of entries, RawSection one of anything.
func Section(id byte, entries ...[]byte) []byte { return RawSection(id, Vec(entries...)) }
func RawSection(id byte, parts ...any) []byte   { return Cat(id, Sized(Cat(parts...))) }

// Module is the header and sections.
func Module(sections ...[]byte) []byte {
	return Cat("\x00asm\x01\x00\x00\x00", slices.Concat(sections...))
}

// Types is a vector of value types, FuncType a function's type.
func Types[T ~byte](list ...T) []byte {
	b := make([]byte, len(list))
	for i, t := range list {
		b[i] = byte(t)
	}
	return Sized(b)
}

func FuncType(params, results []byte) []byte { return Cat(0x60, params, results) }

// Fn is a body: groups of locals as a vector, and instructions without the last end.
func Fn(locals []byte, code ...any) []byte { return Sized(Cat(locals, Cat(code...), end)) }

// Export is one entry of that section; kind is 0 for a function, 1 a table, 2 a memory, 3 a global.
func Export[K ~byte](as string, kind K, index uint32) []byte {
	return Cat(Name(as), byte(kind), U32(index))
}
