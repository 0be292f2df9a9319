package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// maxValues is the most integers that ReadInts reads: no vocabulary is near it.
const maxValues = 1 << 24

// ReadInts reads the tensor of that name, which must hold 64-bit integers, out of the file at path.
func (h *Header) ReadInts(path, name string) ([]int64, error) {
	t := h.Tensor(name)
	switch {
	case t == nil:
		return nil, fmt.Errorf("%w: it has no tensor %q", ErrFormat, name)
	case t.Type != I64:
		return nil, fmt.Errorf("%w: tensor %q is of type %v, not of 64-bit integers", ErrFormat, name, t.Type)
	case t.Elements() > maxValues || t.offset > 1<<50:
		return nil, fmt.Errorf("%w: tensor %q claims %d values", ErrFormat, name, t.Elements())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, 8*t.Elements())
	if _, err := f.ReadAt(data, h.Data+int64(t.offset)); err != nil && err != io.EOF {
		return nil, err
	} else if err == io.EOF {
		return nil, fmt.Errorf("%w: the file ends inside tensor %q", ErrFormat, name)
	}
	out := make([]int64, t.Elements())
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out, nil
}
