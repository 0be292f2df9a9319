package meter

// What a NaN's bits are WebAssembly leaves to the machine: its sign differs between processors, and what becomes of an
// operand's payload between compilers. A guest can look at them. So wherever an operator can make a NaN, code follows that
// makes it the canonical one: quiet, positive, without a payload. What only moves or negates bits keeps them.

// float says what an operator can make a NaN of.
type float byte

const (
	noFloat float = iota
	floatF32
	floatF64
	floatF32x4
	floatF64x2
)

const (
	opSelect     = 0x1b
	opF32Eq      = 0x5b
	opF64Eq      = 0x61
	vecF32x4Eq   = 0x41
	vecF64x2Eq   = 0x47
	vecBitselect = 0x52
)

// canonical says for each what value it looks at, which comparison tells a NaN, and how the NaN is written.
var canonical = map[float]struct {
	local ValueType
	eq    byte
	nan   []byte
}{
	floatF32:   {F32, opF32Eq, []byte{opF32Const, 0, 0, 0xc0, 0x7f}},
	floatF64:   {F64, opF64Eq, []byte{opF64Const, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f}},
	floatF32x4: {V128, vecF32x4Eq, append([]byte{opPrefixVector, vecConst}, lanes(0, 0, 0xc0, 0x7f)...)},
	floatF64x2: {V128, vecF64x2Eq, append([]byte{opPrefixVector, vecConst}, lanes(0, 0, 0, 0, 0, 0, 0xf8, 0x7f)...)},
}

// lanes fills a vector.
func lanes(lane ...byte) (v []byte) {
	for len(v) < 16 {
		v = append(v, lane...)
	}
	return v
}

// makesNaN holds the operators that can make a NaN, and makesVectorNaN those after the vector prefix.
var (
	makesNaN = spans(map[float][][2]byte{
		floatF32: {{0x8d, 0x97}, {0xb6, 0xb6}}, // ceil to max, demote
		floatF64: {{0x9b, 0xa5}, {0xbb, 0xbb}}, // ceil to max, promote
	})
	makesVectorNaN = spans(map[float][][2]byte{
		floatF32x4: {{0x5e, 0x5e}, {0x67, 0x6a}, {0xe3, 0xe9}},                             // demote, ceil to nearest, sqrt to max
		floatF64x2: {{0x5f, 0x5f}, {0x74, 0x75}, {0x7a, 0x7a}, {0x94, 0x94}, {0xef, 0xf5}}, // promote, ceil, floor, trunc, nearest, sqrt to max
	})
)

func spans(of map[float][][2]byte) (t [256]float) {
	for kind, list := range of {
		for _, s := range list {
			for op := int(s[0]); op <= int(s[1]); op++ {
				t[op] = kind
			}
		}
	}
	return t
}

// hidesNaN reports whether an instruction takes the float on top of the stack and shows nothing of a NaN's bits: it compares
// it, makes an integer of it, drops it, or makes another NaN of it, which is then the canonical one.
func hidesNaN(op byte) bool {
	return makesNaN[op] != noFloat || op >= 0x5b && op <= 0x66 || op >= 0xa8 && op <= 0xb1 && op != 0xac && op != 0xad || op == 0x1a
}

// canonicalise notes that a NaN that the operator just read may have made must become the canonical one.
func (f *body) canonicalise(r *reader, kind float) {
	if kind == noFloat || kind <= floatF64 && r.pos < r.end && hidesNaN(r.buf[r.pos]) {
		return
	}
	f.points = append(f.points, point{at: r.pos, nan: kind})
	f.hide(canonical[kind].local)
	f.slow += slowNaN
}

// appendCanonical writes code that takes one value and leaves one: the same, or the canonical NaN. Of a vector it does so
// for each lane.
func (f *body) appendCanonical(b []byte, kind float) []byte {
	c := canonical[kind]
	local := f.hidden(c.local)
	b = append(appendU32(append(b, opLocalTee), local), c.nan...)
	b = appendU32(append(b, opLocalGet), local)
	b = appendU32(append(b, opLocalGet), local)
	if c.local == V128 {
		return append(b, opPrefixVector, c.eq, opPrefixVector, vecBitselect)
	}
	return append(b, c.eq, opSelect)
}
