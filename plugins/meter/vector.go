package meter

// noVector lists the opcodes after 0xfd below 0x100 that do not exist.
var noVector = func() (t [256]bool) {
	for _, op := range []byte{
		0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4,
		0xe2, 0xee,
	} {
		t[op] = true
	}
	return t
}()

// vector reads the rest of a SIMD instruction. Its opcode must have the shortest encoding: a runtime that reads only the
// first byte of it would take a padded one for another instruction, and its padding for code that was never checked.
func (f *body) vector(r *reader) {
	at := r.pos
	op := r.u32()
	switch length := r.pos - at; {
	case r.failed():
		return
	case op >= 0x100 && op < 0x200:
		r.unsupported(at, "vector opcode 0x%x (relaxed SIMD)", op)
		return
	case op >= 0x200 || noVector[op]:
		r.malformed(at, "vector opcode 0x%x does not exist", op)
		return
	case length > 2 || length == 2 && op < 0x80:
		r.unsupported(at, "vector opcode 0x%x in a padded encoding", op)
		return
	}
	switch {
	case op <= 0x0b || op == 0x5c || op == 0x5d: // loads and stores
		f.memoryAccess(r)
	case op >= 0x54 && op <= 0x5b: // loads and stores of one lane
		f.memoryAccess(r)
		r.byte()
	case op == vecConst || op == 0x0d: // 16 bytes, or 16 lanes to shuffle
		r.bytes(16)
	case op >= 0x15 && op <= 0x22: // extract_lane, replace_lane
		r.byte()
	default:
		f.canonicalise(r, makesVectorNaN[op])
	}
}
