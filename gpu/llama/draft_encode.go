package llama

import (
	"fmt"
	"unsafe"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu/llama/internal/hidden"
)

// encoder turns recorded rows into hidden rows with the head's own first layer. Rows of all sequences share its batch.
type encoder struct {
	fn   *hidden.Functions
	side *side
	out  int // width of a hidden row
	c    capi.Batch
	in   []float32 // C memory, beside no tokens, positions or sequences
	into []*draftSeq
}

func newEncoder(fn *hidden.Functions, s *side, in, out int) *encoder {
	e := &encoder{fn: fn, side: s, out: out}
	n, one := uint64(s.size*in), uint64(4)
	lib.fn.calloc.Call(&e.c.Embd, &n, &one)
	e.in = unsafe.Slice(e.c.Embd, n)
	return e
}

func (e *encoder) put(s *draftSeq, row []float32) error {
	if len(e.into) == e.side.size {
		if err := e.flush(); err != nil {
			return err
		}
	}
	copy(e.in[len(e.into)*len(row):], row)
	e.into = append(e.into, s)
	return nil
}

func (e *encoder) flush() error {
	n := len(e.into)
	if n == 0 {
		return nil
	}
	e.c.NTokens = int32(n)
	rc, err := capi.Encode(e.side.handle, e.c)
	if err == nil {
		err = sideError(rc)
	}
	into := e.into
	e.into = e.into[:0]
	if err != nil {
		return fmt.Errorf("encode hidden states: %w", err)
	}
	rows := e.fn.States(e.side.handle, n*e.out)
	if rows == nil {
		return fmt.Errorf("encode hidden states: llama.cpp has none")
	}
	for i, s := range into {
		s.rows = append(s.rows, rows[i*e.out:(i+1)*e.out]...)
	}
	return nil
}

func (e *encoder) close() {
	if e.c.Embd != nil {
		lib.fn.free.Call(nil, &e.c.Embd)
		e.c.Embd, e.in = nil, nil
	}
}
