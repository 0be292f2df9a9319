package program

import (
	"bytes"

	"github.com/sluice-dev/sluice/plugins/internal/wasmasm"
)

// The assembler, by short names.
var (
	cat, u32, vec, name  = wasmasm.Cat, wasmasm.U32, wasmasm.Vec, wasmasm.Name
	section, rawSection  = wasmasm.Section, wasmasm.RawSection
	module, funcType, fn = wasmasm.Module, wasmasm.FuncType, wasmasm.Fn
	types, export        = wasmasm.Types[valueType], wasmasm.Export[byte]
	i32, i64             = wasmasm.I32, wasmasm.I64
)

func rep(n int, b byte) []byte { return bytes.Repeat([]byte{b}, n) }

type valueType byte

const (
	typeI32       valueType = 0x7f
	typeI64       valueType = 0x7e
	typeF64       valueType = 0x7c
	typeV128      valueType = 0x7b
	typeFuncRef   valueType = 0x70
	typeExternRef valueType = 0x6f
)

const (
	kindFunction byte = 0
	kindMemory   byte = 2
	kindGlobal   byte = 3
)

const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opLocalGet     = 0x20
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemoryGrow   = 0x40
	opF32Const     = 0x43
	opF64Const     = 0x44
	opRefNull      = 0xd0
	opPrefixMisc   = 0xfc
	opPrefixVector = 0xfd
	blockEmpty     = 0x40
	vecConst       = 0x0c
	miscMemoryInit = 0x08
	miscDataDrop   = 0x09
	miscMemoryCopy = 0x0a
	miscMemoryFill = 0x0b
	miscTableInit  = 0x0c
	miscElemDrop   = 0x0d
	miscTableCopy  = 0x0e
	miscTableGrow  = 0x0f
	miscTableSize  = 0x10
	miscTableFill  = 0x11
)
