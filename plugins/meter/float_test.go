package meter

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/program"
)

const (
	nan32 = 0x7fc00000
	nan64 = 0x7ff8000000000000
)

func f32c(bits uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{opF32Const}, bits)
}

func f64c(bits uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{opF64Const}, bits)
}

// bits is a module whose run returns the bits of what the code leaves, an f32 or f64.
func bits(t ValueType, code ...any) []byte {
	reinterpret := []byte{0xbd}
	if t == F32 {
		reinterpret = []byte{0xbc, 0xad} // and extend
	}
	return one(funcType(vec(), types(I64)), fn(noLocals, cat(code...), reinterpret), nil, nil)
}

// TestNaNsAreCanonical: whatever NaN an operator is given or makes, its result is the canonical one, in both engines; what
// only moves or changes bits keeps a payload, and no number is changed.
func TestNaNsAreCanonical(t *testing.T) {
	odd32, odd64 := []uint32{0x7fa00001, 0xffc12345, 0xff800000}, []uint64{0x7ff4000000000001, 0xfff8000000012345, 0xfff0000000000000}
	var cases []struct {
		name string
		wasm []byte
		want uint64
	}
	add := func(want uint64, typ ValueType, code ...any) {
		cases = append(cases, struct {
			name string
			wasm []byte
			want uint64
		}{fmt.Sprintf("%x", cat(code...)), bits(typ, code...), want})
	}
	for k := range 2 { // signalling, and with a sign and a payload
		for _, op := range []int{0x8d, 0x8e, 0x8f, 0x90, 0x91} {
			add(nan32, F32, f32c(odd32[k]), op)
			add(nan64, F64, f64c(odd64[k]), op+0x9b-0x8d)
		}
		for op := 0x92; op <= 0x97; op++ {
			add(nan32, F32, f32c(odd32[k]), f32c(0x3f800000), op)
			add(nan32, F32, f32c(0x3f800000), f32c(odd32[k]), op)
			add(nan32, F32, f32c(odd32[1-k]), f32c(odd32[k]), op)
			add(nan64, F64, f64c(0x3ff0000000000000), f64c(odd64[k]), op+0xa0-0x92)
			add(nan64, F64, f64c(odd64[k]), f64c(0), op+0xa0-0x92)
		}
		add(nan32, F32, f64c(odd64[k]), 0xb6)
		add(nan64, F64, f32c(odd32[k]), 0xbb)
		add(nan64, F64, f64c(odd64[k]), f64c(1), 0xa0, f64c(2), 0xa2) // a chain
		add(uint64(odd32[k]), F32, f32c(odd32[k]))
		add(odd64[k], F64, f64c(odd64[k]))
		add(odd64[k]^1<<63, F64, f64c(odd64[k]), 0x9a)    // neg
		add(odd64[k]&^(1<<63), F64, f64c(odd64[k]), 0x99) // abs
	}
	add(nan64, F64, f64c(0), f64c(0), 0xa3)               // 0/0
	add(nan64, F64, f64c(math.Float64bits(-1)), 0x9f)     // sqrt(-1)
	add(nan64, F64, f64c(odd64[2]), f64c(odd64[2]), 0xa1) // inf-inf
	add(math.Float64bits(-3.5), F64, f64c(math.Float64bits(-1)), f64c(math.Float64bits(2.5)), 0xa1)
	add(1<<63, F64, f64c(1<<63), f64c(0), 0xa4) // min(-0, 0)
	add(math.Float64bits(math.Inf(-1)), F64, f64c(math.Float64bits(-1)), f64c(0), 0xa3)
	for engine, rt := range engines(t) {
		for _, c := range cases {
			m := rewrite(t, c.wasm)
			if o, _ := metered(t, rt, compile(t, rt, m.Code), plenty, "run"); o.results != " "+hex(c.want) {
				t.Errorf("%s: %s leaves %s %s, want %s", engine, c.name, o.results, o.trap, hex(c.want))
			}
		}
	}
}

// TestVectorNaNsAreCanonical: of a vector of a NaN and a number each lane.
func TestVectorNaNsAreCanonical(t *testing.T) {
	v32 := cat(opPrefixVector, vecConst, rep(4, 0), u32le(0xffc12345), u32le(0x3fc00000), u32le(0x7fa00001)) // 0, NaN, 1.5, NaN
	v64 := cat(opPrefixVector, vecConst, u64le(0xfff8000000012345), u64le(math.Float64bits(2.25)))
	for _, c := range []struct {
		op        int
		operands  []byte
		low, high uint64
	}{
		{0xe4, cat(v32, v32), nan32 << 32, nan32<<32 | 0x40400000}, // f32x4.add
		{0xe7, cat(v32, v32), nan32<<32 | nan32, nan32<<32 | 0x3f800000},
		{0xe8, cat(v32, v32), nan32 << 32, nan32<<32 | 0x3fc00000},
		{0x67, v32, nan32 << 32, nan32<<32 | 0x40000000}, // ceil
		{0x5f, v32, 0, nan64},                                    // promote_low
		{0xf0, cat(v64, v64), nan64, math.Float64bits(4.5)},      // f64x2.add
		{0xef, v64, nan64, math.Float64bits(1.5)},                // sqrt
		{0x94, v64, nan64, math.Float64bits(2)},                  // nearest
		{0x5e, v64, 0x40100000<<32 | nan32, 0},                   // demote
		{0xed, v64, 0x7ff8000000012345, math.Float64bits(-2.25)}, // neg keeps the payload
	} {
		for lane, want := range []uint64{c.low, c.high} {
			wasm := one(funcType(vec(), types(I64)),
				fn(noLocals, c.operands, opPrefixVector, u32(uint32(c.op)), opPrefixVector, 0x1d, lane), nil, nil) // i64x2.extract_lane
			m := rewrite(t, wasm)
			for engine, rt := range engines(t) {
				if o, _ := metered(t, rt, compile(t, rt, m.Code), plenty, "run"); o.results != " "+hex(want) {
					t.Errorf("%s: op 0x%x lane %d is %s %s, want %s", engine, c.op, lane, o.results, o.trap, hex(want))
				}
			}
		}
	}
}

// TestProgramsThatLookAtNaNs: the same in a compiler and in an interpreter.
func TestProgramsThatLookAtNaNs(t *testing.T) {
	rts := engines(t)
	rapid.Check(t, func(t *rapid.T) {
		wasm := program.BuildWithNaNs(t)
		m := rewrite(t, wasm)
		var outcomes [2]outcome
		for k, engine := range []string{"compiler", "interpreter"} {
			code := compile(t, rts[engine], m.Code)
			outcomes[k], _ = metered(t, rts[engine], code, plenty, abi.ExportAdmit, program.Arg32)
			outcomes[k].results = "" // they are in memory; above an i32's bits here stands anything
			code.Close(context.Background())
		}
		if outcomes[0] != outcomes[1] {
			t.Fatalf("compiler %+v\ninterpreter %+v\n%x", outcomes[0], outcomes[1], wasm)
		}
	})
}

func u32le(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64le(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
