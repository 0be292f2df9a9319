package meter

// The opcodes that the rewriter looks at or writes.
const (
	opUnreachable    = 0x00
	opBlock          = 0x02
	opLoop           = 0x03
	opIf             = 0x04
	opElse           = 0x05
	opEnd            = 0x0b
	opLocalGet       = 0x20
	opLocalTee       = 0x22
	opGlobalGet      = 0x23
	opGlobalSet      = 0x24
	opMemoryGrow     = 0x40
	opI32Const       = 0x41
	opI64Const       = 0x42
	opF32Const       = 0x43
	opF64Const       = 0x44
	opI64LtS         = 0x53
	opI64Sub         = 0x7d
	opI64Shl         = 0x86
	opI64ShrU        = 0x88
	opI64ExtendI32U  = 0xad
	opRefNull        = 0xd0
	opRefFunc        = 0xd2
	opPrefixGC       = 0xfb
	opPrefixMisc     = 0xfc
	opPrefixVector   = 0xfd
	opPrefixAtomic   = 0xfe
	blockEmpty       = 0x40
	vecConst         = 0x0c
	miscMemoryInit   = 0x08
	miscDataDrop     = 0x09
	miscMemoryCopy   = 0x0a
	miscMemoryFill   = 0x0b
	miscTableInit    = 0x0c
	miscElemDrop     = 0x0d
	miscTableCopy    = 0x0e
	miscTableGrow    = 0x0f
	miscTableSize    = 0x10
	miscTableFill    = 0x11
	miscTruncSatLast = 0x07
)

// immediate says what follows an opcode.
type immediate byte

const (
	immUnknown immediate = iota // no opcode, or one that is refused by name
	immNone
	immSelect
	immFunction
	immLocal
	immGlobal
	immTable
	immMemory // align and offset
	immMemoryIndex
	immI32
	immI64
	immF32
	immF64
	immRefNull
	immMisc
	immVector

	immBlock // from here on: what moves values between blocks and functions
	immElse
	immEnd
	immReturn
	immLabel
	immLabels
	immCall
	immCallIndirect
)

var immediates = buildImmediates()

func buildImmediates() (t [256]immediate) {
	set := func(first, last int, i immediate) {
		for op := first; op <= last; op++ {
			t[op] = i
		}
	}
	set(0x00, 0x01, immNone) // unreachable, nop
	set(opBlock, opIf, immBlock)
	set(opElse, opElse, immElse)
	set(opEnd, opEnd, immEnd)
	set(0x0c, 0x0d, immLabel) // br, br_if
	set(0x0e, 0x0e, immLabels)
	set(0x0f, 0x0f, immReturn)
	set(0x10, 0x10, immCall)
	set(0x11, 0x11, immCallIndirect)
	set(0x1a, 0x1b, immNone) // drop, select
	set(0x1c, 0x1c, immSelect)
	set(0x20, 0x22, immLocal)
	set(0x23, 0x24, immGlobal)
	set(0x25, 0x26, immTable) // table.get, table.set
	set(0x28, 0x3e, immMemory)
	set(0x3f, opMemoryGrow, immMemoryIndex)
	set(opI32Const, opI32Const, immI32)
	set(opI64Const, opI64Const, immI64)
	set(opF32Const, opF32Const, immF32)
	set(opF64Const, opF64Const, immF64)
	set(0x45, 0xc4, immNone) // comparisons, arithmetic, conversions, sign extension
	set(opRefNull, opRefNull, immRefNull)
	set(0xd1, 0xd1, immNone) // ref.is_null
	set(opRefFunc, opRefFunc, immFunction)
	set(opPrefixMisc, opPrefixMisc, immMisc)
	set(opPrefixVector, opPrefixVector, immVector)
	return t
}

// refused names the opcodes of proposals that are not offered to guests.
var refused = map[byte]string{
	0x06: "try (exception handling)", 0x07: "catch (exception handling)", 0x08: "throw (exception handling)",
	0x09: "rethrow (exception handling)", 0x0a: "throw_ref (exception handling)", 0x18: "delegate (exception handling)",
	0x19: "catch_all (exception handling)", 0x1f: "try_table (exception handling)",
	0x12: "return_call (tail calls)", 0x13: "return_call_indirect (tail calls)",
	0x14: "call_ref (typed function references)", 0x15: "return_call_ref (tail calls)",
	0xd3: "ref.eq (garbage collection)", 0xd4: "ref.as_non_null (typed function references)",
	0xd5: "br_on_null (typed function references)", 0xd6: "br_on_non_null (typed function references)",
	0xe0: "cont.new (stack switching)", 0xe1: "cont.bind (stack switching)", 0xe2: "suspend (stack switching)",
	0xe3: "resume (stack switching)", 0xe4: "resume_throw (stack switching)", 0xe5: "switch (stack switching)",
	opPrefixGC: "opcode 0xfb (garbage collection)", opPrefixAtomic: "opcode 0xfe (threads and atomics)",
}
