// Package gguf reads the header of a GGUF model file: what the model is called, and the type and size of each tensor.
//
// It is not a loader: it reads no weights, keeps no vocabulary, and does not judge whether llama.cpp can run the model.
// It is what lets Sluice refuse a file that is no model with a clear message before any C code sees it.
//
//	h, err := gguf.ReadFile("model.gguf")
//	for _, t := range h.Tensors {
//		fmt.Println(t.Name, t.Type, t.Elements())
//	}
package gguf

import (
	"errors"
	"fmt"
	"os"
)

// ErrFormat is wrapped by every error that says that the bytes are not a GGUF file that can be read.
var ErrFormat = errors.New("not a GGUF model file")

// Limits on what a header may hold. The largest published models stay below a tenth of them.
const (
	maxPairs   = 1 << 16
	maxTensors = 1 << 18
	maxName    = 1 << 10
	maxText    = 1 << 20 // texts that are kept; longer ones are skipped
	maxDims    = 4
	maxDepth   = 4
	maxInts    = 64
)

// Header is what a GGUF file says about itself.
type Header struct {
	Version uint32
	Strings map[string]string // metadata whose value is a text
	Numbers map[string]uint64 // metadata whose value is an integer or a bool; negative ones are left out
	Floats  map[string]float64
	Lengths map[string]uint64  // metadata whose value is a list: how long it is
	Ints    map[string][]int64 // lists of at most maxInts integers
	Tensors []Tensor
	Data    int64 // offset in the file at which the tensors' data begins
}

// Tensor is one entry of the tensor table.
type Tensor struct {
	Name string
	Dims []uint64 // Dims[0] is the length of a row
	Type Type

	offset uint64 // from Header.Data
}

// Elements is how many weights the tensor holds; 0 when the product does not fit.
func (t Tensor) Elements() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		if d != 0 && n > (1<<62)/d {
			return 0
		}
		n *= d
	}
	return n
}

// Architecture is the model's family, such as "llama"; "" when the file does not say.
func (h *Header) Architecture() string { return h.Strings["general.architecture"] }

// Tensor finds a tensor by its name; nil when the file has none.
func (h *Header) Tensor(name string) *Tensor {
	for i := range h.Tensors {
		if h.Tensors[i].Name == name {
			return &h.Tensors[i]
		}
	}
	return nil
}

// ReadFile reads the header of the file at path. An error wraps ErrFormat when the file can be read and is not GGUF.
func ReadFile(path string) (*Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file", ErrFormat)
	}
	return Read(f, st.Size())
}
