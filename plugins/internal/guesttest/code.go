package guesttest

import (
	"encoding/binary"
	"math"

	"github.com/sluice-dev/sluice/plugins/internal/wasmasm"
)

// Code is instructions. The functions below make it; Seq joins it.
type Code []byte

// Seq runs one after the other.
func Seq(parts ...Code) Code {
	var all Code
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func op(code byte, imm ...[]byte) Code {
	c := Code{code}
	for _, i := range imm {
		c = append(c, i...)
	}
	return c
}

var (
	unsigned = wasmasm.U32
	signed   = wasmasm.S64
)

// I32 and I64 are constants.
func I32(v int32) Code { return op(0x41, signed(int64(v))) }
func I64(v int64) Code { return op(0x42, signed(v)) }

// F64 is a constant.
func F64(v float64) Code { return op(0x44, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))) }

// Get and Set use a parameter or local, Call another function, GetGlobal a global.
func Get(local uint32) Code   { return op(0x20, unsigned(local)) }
func Set(local uint32) Code   { return op(0x21, unsigned(local)) }
func Call(index uint32) Code  { return op(0x10, unsigned(index)) }
func Global(name uint32) Code { return op(0x23, unsigned(name)) }

// Memory access at the address below the value on the stack.
func Load8(offset uint32) Code   { return op(0x2d, unsigned(0), unsigned(offset)) }
func Load32(offset uint32) Code  { return op(0x28, unsigned(0), unsigned(offset)) }
func Load64(offset uint32) Code  { return op(0x29, unsigned(0), unsigned(offset)) }
func Store8(offset uint32) Code  { return op(0x3a, unsigned(0), unsigned(offset)) }
func Store32(offset uint32) Code { return op(0x36, unsigned(0), unsigned(offset)) }
func Store64(offset uint32) Code { return op(0x37, unsigned(0), unsigned(offset)) }

// Single instructions.
var (
	Unreachable = op(0x00)
	Return      = op(0x0f)
	Drop        = op(0x1a)
	And32       = op(0x71)
	Add32       = op(0x6a)
	Sub32       = op(0x6b)
	Mul32       = op(0x6c)
	Div32       = op(0x6d)
	Add64       = op(0x7c)
	Eqz32       = op(0x45)
	LtU32       = op(0x49)
	GtS64       = op(0x55)
	Wrap        = op(0xa7) // i64 to i32
	Extend      = op(0xad) // i32 to i64, unsigned
	TruncF64    = op(0xaa) // f64 to i32, signed
	Grow        = op(0x40, []byte{0})
	Fill        = op(0xfc, []byte{11, 0}) // address, byte, length
)

const noResult = 0x40

// Loop runs body again when it branches to label 0.
func Loop(body ...Code) Code { return Seq(op(0x03, []byte{noResult}), Seq(body...), op(0x0b)) }

// If runs body when the stack's top is not 0.
func If(body ...Code) Code { return Seq(op(0x04, []byte{noResult}), Seq(body...), op(0x0b)) }

// Br and BrIf leave that many blocks, or go on with a loop.
func Br(label uint32) Code   { return op(0x0c, unsigned(label)) }
func BrIf(label uint32) Code { return op(0x0d, unsigned(label)) }

// Forever never ends.
func Forever() Code { return Loop(Br(0)) }

// Put32, Put64 and Put8 store a constant at a constant address.
func Put8(addr uint32, v int32) Code  { return Seq(I32(int32(addr)), I32(v), Store8(0)) }
func Put32(addr uint32, v int32) Code { return Seq(I32(int32(addr)), I32(v), Store32(0)) }
func Put64(addr uint32, v int64) Code { return Seq(I32(int32(addr)), I64(v), Store64(0)) }

// EachRow runs body for each of n = local 0 rows; local 1 counts rows, local 2 is the address of the row's output.
func EachRow(size int32, body ...Code) Code {
	return Seq(
		I32(0), Set(1), I32(OutPtr), Set(2),
		Loop(Seq(body...), Get(2), I32(size), Add32, Set(2), Get(1), I32(1), Add32, Set(1), Get(1), Get(0), LtU32, BrIf(0)),
	)
}
