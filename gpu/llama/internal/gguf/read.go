package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Kinds of metadata values.
const (
	kindUint8 uint32 = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
)

var kindSize = map[uint32]int{
	kindUint8: 1, kindInt8: 1, kindBool: 1, kindUint16: 2, kindInt16: 2, kindUint32: 4, kindInt32: 4, kindFloat32: 4,
	kindUint64: 8, kindInt64: 8, kindFloat64: 8,
}

// Read reads a header from r, of which size bytes are there. Nothing that r claims can make it allocate more than size.
func Read(r io.Reader, size int64) (*Header, error) {
	d := &decoder{r: bufio.NewReaderSize(r, 1<<16), left: size}
	h := &Header{
		Strings: map[string]string{}, Numbers: map[string]uint64{}, Floats: map[string]float64{},
		Lengths: map[string]uint64{}, Ints: map[string][]int64{},
	}
	tensors, pairs := d.preamble(h)
	for i := uint64(0); i < pairs && d.err == nil; i++ {
		d.pair(h)
	}
	for i := uint64(0); i < tensors && d.err == nil; i++ {
		h.Tensors = append(h.Tensors, d.tensor())
	}
	if d.err != nil {
		return nil, d.err
	}
	h.Data = size - d.left
	if align := int64(h.alignment()); h.Data%align != 0 {
		h.Data += align - h.Data%align
	}
	return h, nil
}

// alignment is that of the tensors' data: 32 unless the file says otherwise.
func (h *Header) alignment() uint64 {
	if a := h.Numbers["general.alignment"]; a > 0 && a <= 1<<20 {
		return a
	}
	return 32
}

// decoder keeps the first error; after it every read gives zero.
type decoder struct {
	r    *bufio.Reader
	left int64
	err  error
	buf  [8]byte
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
	}
}

// take tells whether n more bytes are there and counts them as read.
func (d *decoder) take(n uint64) bool {
	if d.err == nil && n > uint64(d.left) {
		d.fail("the file ends inside its header")
	}
	if d.err != nil {
		return false
	}
	d.left -= int64(n)
	return true
}

func (d *decoder) uint(n int) uint64 {
	if !d.take(uint64(n)) {
		return 0
	}
	d.buf = [8]byte{}
	if _, err := io.ReadFull(d.r, d.buf[:n]); err != nil {
		d.fail("%v", err)
		return 0
	}
	return binary.LittleEndian.Uint64(d.buf[:])
}

func (d *decoder) skip(n uint64) {
	if d.take(n) {
		if _, err := io.CopyN(io.Discard, d.r, int64(n)); err != nil {
			d.fail("%v", err)
		}
	}
}

// text reads a string of at most limit bytes. A longer one is skipped and gives ok = false.
func (d *decoder) text(limit uint64) (s string, ok bool) {
	n := d.uint(8)
	if n > limit {
		d.skip(n)
		return "", false
	}
	if !d.take(n) {
		return "", false
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(d.r, b); err != nil {
		d.fail("%v", err)
		return "", false
	}
	return string(b), true
}

func (d *decoder) name() string {
	s, ok := d.text(maxName)
	if !ok {
		d.fail("a name is longer than %d bytes", maxName)
	}
	return s
}

func (d *decoder) preamble(h *Header) (tensors, pairs uint64) {
	if magic := d.uint(4); magic != 0x46554747 {
		d.fail("it does not start with GGUF")
	}
	h.Version = uint32(d.uint(4))
	if d.err == nil && h.Version != 2 && h.Version != 3 {
		d.fail("version %d is not supported, only 2 and 3", h.Version)
	}
	tensors, pairs = d.uint(8), d.uint(8)
	if tensors > maxTensors || pairs > maxPairs {
		d.fail("it claims %d tensors and %d metadata entries", tensors, pairs)
	}
	return tensors, pairs
}

func (d *decoder) pair(h *Header) {
	key := d.name()
	kind := uint32(d.uint(4))
	switch kind {
	case kindString:
		if s, ok := d.text(maxText); ok {
			h.Strings[key] = s
		}
	case kindArray:
		d.list(h, key)
	case kindFloat32:
		h.Floats[key] = float64(math.Float32frombits(uint32(d.uint(4))))
	case kindFloat64:
		h.Floats[key] = math.Float64frombits(d.uint(8))
	default:
		d.number(h, key, kind)
	}
}

func (d *decoder) number(h *Header, key string, kind uint32) {
	size, ok := kindSize[kind]
	if !ok {
		d.fail("metadata %q has the unknown kind %d", key, kind)
		return
	}
	v := d.uint(size)
	signed := kind == kindInt8 || kind == kindInt16 || kind == kindInt32 || kind == kindInt64
	if d.err == nil && !(signed && v>>(8*size-1) != 0) {
		h.Numbers[key] = v
	}
}

// list reads an array of metadata and keeps its length, and what is in it when it is a short one of integers.
func (d *decoder) list(h *Header, key string) {
	kind, n := uint32(d.uint(4)), d.uint(8)
	h.Lengths[key] = n
	size, fixed := kindSize[kind]
	if !fixed || n > maxInts || kind == kindFloat32 || kind == kindFloat64 || kind == kindBool {
		d.elements(kind, n, 0)
		return
	}
	for range n {
		v := d.uint(size)
		switch kind {
		case kindInt8:
			v = uint64(int8(v))
		case kindInt16:
			v = uint64(int16(v))
		case kindInt32:
			v = uint64(int32(v))
		}
		h.Ints[key] = append(h.Ints[key], int64(v))
	}
}

// elements skips n values of an array.
func (d *decoder) elements(kind uint32, n uint64, depth int) {
	size, fixed := kindSize[kind]
	switch {
	case d.err != nil:
	case fixed && n <= uint64(d.left)/uint64(size):
		d.skip(n * uint64(size))
	case fixed:
		d.fail("an array is longer than the file")
	case kind == kindString:
		for ; n > 0 && d.err == nil; n-- {
			d.skip(d.uint(8))
		}
	case kind == kindArray && depth < maxDepth:
		for ; n > 0 && d.err == nil; n-- {
			d.elements(uint32(d.uint(4)), d.uint(8), depth+1)
		}
	default:
		d.fail("an array has the unknown kind %d", kind)
	}
}

func (d *decoder) tensor() Tensor {
	t := Tensor{Name: d.name()}
	dims := d.uint(4)
	if dims > maxDims {
		d.fail("tensor %q has %d dimensions", t.Name, dims)
		return t
	}
	for range dims {
		t.Dims = append(t.Dims, d.uint(8))
	}
	t.Type = Type(d.uint(4))
	t.offset = d.uint(8)
	return t
}
