package meter

// minEntryUnits is what a call costs at least: it bounds recursion.
const minEntryUnits = 64

// charge says how the units of a point are found.
type charge byte

const (
	chargeFixed    charge = iota // point.units
	chargeBytes                  // the i32 on top of the stack / 8
	chargePages                  // the i32 on top of the stack * 1024: a page has 64 KiB
	chargeElements               // the i32 on top of the stack
)

// Filling memory costs what storing it word by word would, or one call could write hundreds of times as much as a loop.
// A page that is asked for costs less than its bytes: the guest pays again when it writes to it.
const (
	bytesShift = 3
	pagesShift = 10
)

// point is a place in the original where code is put that charges.
type point struct {
	at    int // offset in the file
	kind  charge
	units int64
}

// charge notes that the instruction at the offset is charged by its operand.
func (f *body) charge(at int, kind charge) {
	f.points = append(f.points, point{at: at, kind: kind})
	f.bulk = true
	f.joins += 4 // of the charge, and of the loop that a compiler makes of the instruction
}

// appendLocals writes the declarations of locals, with the hidden one where it is needed.
func (f *body) appendLocals(b, groups []byte) []byte {
	if !f.bulk {
		return append(b, groups...)
	}
	r := &reader{buf: groups, end: len(groups)}
	n := r.u32()
	b = append(appendU32(b, n+1), groups[r.pos:]...)
	return append(b, 1, byte(I32))
}

// appendCode writes the instructions from code to end, with the charges between them.
func (f *body) appendCode(b, file []byte, code, end int) []byte {
	for _, p := range f.points {
		b = append(b, file[code:p.at]...)
		code = p.at
		b = f.appendCharge(b, p)
	}
	return append(b, file[code:end]...)
}

// appendCharge writes code that takes nothing from the stack and leaves nothing on it. It traps when the counter falls
// below zero, after storing it: that is how the host tells this trap from others.
func (f *body) appendCharge(b []byte, p point) []byte {
	fuel := uint32(f.d.globals)
	if p.kind == chargeFixed {
		b = appendU32(append(b, opGlobalGet), fuel)
		b = appendS64(append(b, opI64Const), p.units)
	} else {
		b = appendU32(append(b, opLocalTee), uint32(f.locals))
		b = appendU32(append(b, opGlobalGet), fuel)
		b = appendU32(append(b, opLocalGet), uint32(f.locals))
		b = append(b, opI64ExtendI32U)
	}
	switch p.kind {
	case chargeBytes:
		b = append(b, opI64Const, bytesShift, opI64ShrU)
	case chargePages:
		b = append(b, opI64Const, pagesShift, opI64Shl)
	}
	b = appendU32(append(b, opI64Sub, opGlobalSet), fuel)
	b = appendU32(append(b, opGlobalGet), fuel)
	return append(b, opI64Const, 0, opI64LtS, opIf, blockEmpty, opUnreachable, opEnd)
}
