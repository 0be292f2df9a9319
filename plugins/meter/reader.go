package meter

import (
	"fmt"
	"unicode/utf8"
)

// reader reads one part of the binary. Its first failure sticks: later reads give zeros, so that callers check once, and
// loops check failed. Offsets are those of the whole file.
type reader struct {
	buf      []byte // the whole file
	pos, end int
	function int // for errors; -1 outside of bodies
	err      *Error
}

func (r *reader) failed() bool   { return r.err != nil }
func (r *reader) remaining() int { return r.end - r.pos }

// error gives the failure as an error that is nil when there is none.
func (r *reader) error() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

func (r *reader) fail(kind error, at int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Kind: kind, Offset: at, Function: r.function, Detail: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) malformed(at int, format string, args ...any) {
	r.fail(ErrMalformed, at, format, args...)
}

func (r *reader) unsupported(at int, format string, args ...any) {
	r.fail(ErrUnsupported, at, format, args...)
}

// sub splits the next n bytes off as a reader of their own.
func (r *reader) sub(n uint32) *reader {
	if uint64(n) > uint64(r.remaining()) {
		r.malformed(r.pos, "a part of %d bytes, but %d are left", n, r.remaining())
	}
	s := &reader{buf: r.buf, pos: r.pos, end: r.pos, function: r.function, err: r.err}
	if r.err == nil {
		s.end += int(n)
		r.pos = s.end
	}
	return s
}

// done fails unless all bytes were read.
func (r *reader) done(what string) {
	if r.err == nil && r.pos != r.end {
		r.malformed(r.pos, "%d bytes too many in %s", r.remaining(), what)
	}
}

func (r *reader) byte() byte {
	if r.err != nil || r.pos >= r.end {
		r.malformed(r.pos, "unexpected end")
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// bytes gives a view of the next n bytes.
func (r *reader) bytes(n uint32) []byte {
	s := r.sub(n)
	return r.buf[s.pos:s.end]
}

// u32 reads an unsigned LEB128 number: at most 5 bytes, and no bit beyond the 32nd.
func (r *reader) u32() uint32 {
	if r.pos < r.end && r.buf[r.pos] < 0x80 && r.err == nil {
		r.pos++
		return uint32(r.buf[r.pos-1])
	}
	at := r.pos
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.malformed(at, "a number does not fit 32 bits")
	return 0
}

// signed reads a signed LEB128 number of the given width: 32, 33 or 64 bits. Bits beyond the width must repeat the sign.
func (r *reader) signed(bits int) int64 {
	at := r.pos
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if used := bits - shift; used < 7 {
			if ext := int8(b<<1) >> used; ext != 0 && ext != -1 {
				break
			}
		}
		if shift+7 < 64 && b&0x40 != 0 {
			v |= -1 << (shift + 7)
		}
		return v
	}
	r.malformed(at, "a number does not fit %d bits", bits)
	return 0
}

// count reads the length of a vector whose elements take at least a byte each.
func (r *reader) count(limit int, what string) int {
	at := r.pos
	n := r.u32()
	if uint64(n) > uint64(r.remaining()) {
		r.malformed(at, "%d %s in %d bytes", n, what, r.remaining())
		return 0
	}
	if int(n) > limit {
		r.fail(ErrLimit, at, "%d %s, more than the limit of %d", n, what, limit)
		return 0
	}
	return int(n)
}

// index reads an index that must be below n.
func (r *reader) index(n int, what string) uint32 {
	at := r.pos
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(n) {
		r.malformed(at, "%s %d does not exist: there are %d", what, i, n)
		return 0
	}
	return i
}

// name reads a string.
func (r *reader) name() string {
	at := r.pos
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.malformed(at, "a name is not valid UTF-8")
		return ""
	}
	return string(b)
}

// zero reads a reserved byte: the index of the only memory.
func (r *reader) zero() {
	at := r.pos
	if b := r.byte(); b != 0 {
		r.unsupported(at, "memory %#x: multi-memory, or a padded index", b)
	}
}
