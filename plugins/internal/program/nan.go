package program

import "encoding/binary"

// What follows is of programs that look at the bits of floats, NaNs among them.

var (
	odd64 = []uint64{0x7ff8 << 48, 0xfff8 << 48, 0x7ff4<<48 | 1, 0xfff8<<48 | 0x12345, 0x7ff0 << 48, 0xfff0 << 48, 1 << 63, 0, 0x3ff8 << 48, 1}
	odd32 = []uint32{0x7fc00000, 0xffc00000, 0x7fa00001, 0xffc12345, 0x7f800000, 0xff800000, 1 << 31, 0, 0x3fc00000, 1}
)

// withNaNs adds choices where the program may look at bits.
func (p *program) withNaNs(choices []func() []byte, more ...func() []byte) []func() []byte {
	if !p.nans {
		return choices
	}
	return append(choices, more...)
}

func (p *program) oddF64() []byte {
	return binary.LittleEndian.AppendUint64([]byte{opF64Const}, odd64[p.pick(len(odd64))])
}

// f32 writes an expression as the other types' functions do.
func (p *program) f32(n int) []byte {
	constant := func() []byte {
		return binary.LittleEndian.AppendUint32([]byte{opF32Const}, odd32[p.pick(len(odd32))])
	}
	if n == 0 {
		return constant()
	}
	return p.one(
		constant,
		func() []byte { return cat(p.f32(n-1), p.f32(n-1), 0x92+p.pick(7)) }, // add to copysign
		func() []byte { return cat(p.f32(n-1), 0x8b+p.pick(7)) },             // abs to sqrt
		func() []byte { return cat(p.f64(n-1), 0xb6) },                       // demote
		func() []byte { return cat(p.i32(n-1), 0xbe) },                       // reinterpret
		func() []byte { return cat(p.i64(n-1), 0xb4+p.pick(2)) },             // convert
		func() []byte { return cat(p.address(), 0x2a, 2, 0) },
		func() []byte { return cat(p.v128(n-1), opPrefixVector, 0x1f, p.pick(4)) }, // extract_lane
	)
}

func (p *program) moreF64(n int) []func() []byte {
	return []func() []byte{
		p.oddF64,
		func() []byte { return cat(p.f64(n-1), p.f64(n-1), 0xa0+p.pick(7)) }, // add to copysign
		func() []byte { return cat(p.f64(n-1), 0x99+p.pick(7)) },             // abs to sqrt
		func() []byte { return cat(p.f32(n-1), 0xbb) },                       // promote
		func() []byte { return cat(p.i64(n-1), 0xbf) },                       // reinterpret
		func() []byte { return cat(p.address(), 0x2b, 3, 0) },
		func() []byte { return cat(p.v128(n-1), opPrefixVector, 0x21, p.pick(2)) }, // extract_lane
	}
}

// vectorFloats are the opcodes of lanes of floats that take one vector, and those that take two.
var vectorFloats = [2][]uint32{
	{0x5e, 0x5f, 0x67, 0x68, 0x69, 0x6a, 0x74, 0x75, 0x7a, 0x94, 0xe0, 0xe1, 0xe3, 0xec, 0xed, 0xef},
	{0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xeb, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7},
}

func (p *program) moreV128(n int) []func() []byte {
	op := func(of []uint32) []byte { return cat(opPrefixVector, u32(of[p.pick(len(of))])) }
	return []func() []byte{
		func() []byte { return cat(p.f32(n-1), opPrefixVector, 0x13) }, // splat
		func() []byte { return cat(p.f64(n-1), opPrefixVector, 0x14) },
		func() []byte { return cat(p.v128(n-1), op(vectorFloats[0])) },
		func() []byte { return cat(p.v128(n-1), p.v128(n-1), op(vectorFloats[1])) },
		func() []byte { return cat(p.v128(n-1), p.v128(n-1), op(vectorFloats[1])) },
		func() []byte { return cat(p.v128(n-1), p.f32(n-1), opPrefixVector, 0x20, p.pick(4)) }, // replace_lane
	}
}
