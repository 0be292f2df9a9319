package program

import "encoding/binary"

// address writes an i32 that is mostly inside the memory.
func (p *program) address() []byte {
	if p.pick(12) == 0 {
		return p.i32(2)
	}
	return cat(p.i32(2), i32(0x7fff), 0x71)
}

// i32 writes an expression of that type, nested up to n deep. The other types' functions are alike.
func (p *program) i32(n int) []byte {
	leaf := func() []byte {
		return p.one(
			func() []byte { return i32(int32(p.pick(20) - 10)) },
			func() []byte { return i32(int32(p.pick(1<<31) - 1<<30)) },
			func() []byte { return cat(opLocalGet, p.local(typeI32)) },
			func() []byte { return cat(opGlobalGet, 2) },
			func() []byte { return cat(0x3f, 0) },
			func() []byte { return cat(opPrefixMisc, miscTableSize, 0) },
		)
	}
	if n == 0 {
		return leaf()
	}
	return p.one(p.withNaNs([]func() []byte{
		leaf,
		func() []byte { return cat(p.i32(n-1), p.i32(n-1), 0x6a+p.pick(15)) }, // add to rotr, divisions among them
		func() []byte { return cat(p.i32(n-1), p.i32(n-1), 0x46+p.pick(10)) }, // comparisons
		func() []byte { return cat(p.i64(n-1), p.i64(n-1), 0x51+p.pick(10)) },
		func() []byte { return cat(p.f64(n-1), p.f64(n-1), 0x61+p.pick(6)) },
		func() []byte { return cat(p.i32(n-1), []int{0x45, 0x67, 0x68, 0x69, 0xc0, 0xc1}[p.pick(6)]) },
		func() []byte { return cat(p.i64(n-1), 0xa7) },
		func() []byte { return cat(p.f64(n-1), opPrefixMisc, 2+p.pick(2)) }, // saturating conversion
		func() []byte { return cat(p.address(), 0x28, 2, u32(uint32(p.pick(64)))) },
		func() []byte { return cat(p.address(), 0x2c+p.pick(2), 0, 1) },
		func() []byte { return cat(p.i32(n-1), p.i32(n-1), p.i32(n-1), 0x1b) },
		func() []byte { return cat(p.i32(n-1), p.i32(n-1), p.i32(n-1), 0x1c, 1, typeI32) },
		func() []byte { return cat(p.i32(n-1), opLocalTee, p.local(typeI32)) },
		func() []byte { return cat(opLocalGet, p.local(typeFuncRef), 0xd1) },
		func() []byte { return cat(p.v128(n-1), opPrefixVector, 0x1b, p.pick(4)) }, // extract_lane
		func() []byte { return cat(p.v128(n-1), opPrefixVector, 0xa3, 1) },         // all_true: an opcode of two bytes
		func() []byte {
			return cat(p.i32(n-1), opIf, typeI32, p.enter(false, func() []byte {
				return cat(p.i32(n-1), opElse, p.i32(n-1))
			}), opEnd)
		},
	}, func() []byte { return cat(p.f32(n-1), 0xbc) })...)
}

func (p *program) i64(n int) []byte {
	leaf := func() []byte {
		return p.one(
			func() []byte { return i64(int64(p.pick(1<<40) - 1<<39)) },
			func() []byte { return cat(opLocalGet, p.local(typeI64)) },
			func() []byte { return cat(opGlobalGet, 1) },
		)
	}
	if n == 0 {
		return leaf()
	}
	return p.one(p.withNaNs([]func() []byte{
		leaf,
		func() []byte { return cat(p.i64(n-1), p.i64(n-1), 0x7c+p.pick(15)) },
		func() []byte { return cat(p.i32(n-1), 0xac+p.pick(2)) },
		func() []byte { return cat(p.i64(n-1), 0xc2+p.pick(3)) },
		func() []byte { return cat(p.f64(n-1), opPrefixMisc, 6+p.pick(2)) },
		func() []byte { return cat(p.address(), 0x29, 3, 0) },
		func() []byte { return cat(p.i64(n-1), opLocalTee, p.local(typeI64)) },
	}, func() []byte { return cat(p.f64(n-1), 0xbd) }, func() []byte { return cat(p.f64(n-1), 0xbd) })...)
}

// f64 leaves its value to comparisons and saturating conversions only, unless the program may look at its bits.
func (p *program) f64(n int) []byte {
	leaf := func() []byte {
		return p.one(
			func() []byte {
				return binary.LittleEndian.AppendUint64([]byte{opF64Const}, 0x3ff0<<48+uint64(p.pick(1<<40)))
			},
			func() []byte { return cat(opLocalGet, p.local(typeF64)) },
		)
	}
	if n == 0 {
		return leaf()
	}
	return p.one(p.withNaNs([]func() []byte{
		leaf,
		func() []byte { return cat(p.f64(n-1), p.f64(n-1), 0xa0+p.pick(4)) },
		func() []byte { return cat(p.i64(n-1), 0xb9) },
		func() []byte { return cat(p.f64(n-1), 0x9b+p.pick(5)) },
	}, p.moreF64(n)...)...)
}

func (p *program) v128(n int) []byte {
	if n == 0 {
		return p.one(
			func() []byte { return cat(opPrefixVector, vecConst, rep(16, byte(p.pick(256)))) },
			func() []byte { return cat(opLocalGet, p.local(typeV128)) },
		)
	}
	return p.one(p.withNaNs([]func() []byte{
		func() []byte { return cat(p.v128(n-1), p.v128(n-1), opPrefixVector, 0x6e) },    // i8x16.add
		func() []byte { return cat(p.v128(n-1), p.v128(n-1), opPrefixVector, 0xb5, 1) }, // i32x4.mul
		func() []byte { return cat(p.i32(n-1), opPrefixVector, 0x11) },                  // i32x4.splat
		func() []byte { return cat(p.v128(n-1), p.v128(n-1), opPrefixVector, 0x0d, rep(16, byte(p.pick(32)))) },
		func() []byte { return cat(p.address(), p.v128(n-1), opPrefixVector, 0x56, 2, 0, p.pick(4)) }, // load32_lane
	}, p.moreV128(n)...)...)
}
