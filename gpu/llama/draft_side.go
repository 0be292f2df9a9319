package llama

import (
	"fmt"
	"slices"
	"unsafe"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// side is a second context with the same sequences as the device's, which a drafter computes with. Its calls run with the
// device locked.
type side struct {
	handle capi.Context
	memory capi.Memory
	batch  *batch
	hidden []float32 // C memory: the hidden rows beside the batch's tokens
	width  int       // of a hidden row; 0 = tokens only
	size   int       // rows of a decode
	room   int       // positions of a sequence
	vocab  int
	split  bool
}

// openSide makes a context for model beside the device's, with room for maxDrafts positions more in each sequence. change
// adjusts the parameters; it may be nil.
func (c *Context) openSide(model capi.Model, size, width int, change func(*capi.ContextParams)) (*side, error) {
	s := &side{size: size, width: width, vocab: int(capi.VocabNTokens(capi.ModelGetVocab(model))), split: c.opts.KVLayout == LayoutSplit}
	var err error
	for _, t := range slices.Compact([]string{c.opts.KVType, KVF16}) { // as the device's, unless its heads do not fit that
		p := c.params(t)
		p.NCtx += p.NSeqMax * maxDrafts
		p.NBatch, p.NUbatch = uint32(max(size, int(p.NSeqMax))), uint32(max(size, int(p.NSeqMax)))
		if change != nil {
			change(&p)
		}
		why := explain(func() { s.handle, err = capi.InitFromModel(model, p) })
		if err == nil {
			c.lendThreads(s.handle)
			break
		}
		err = usagef("make the drafter's context: %w", because(err, why))
	}
	if err != nil {
		return nil, err
	}
	if s.memory, err = capi.GetMemory(s.handle); err != nil || s.memory == 0 {
		s.close()
		return nil, usagef("the drafter's model has no KV cache")
	}
	s.size = min(size, int(capi.NBatch(s.handle)), int(capi.NUBatch(s.handle)))
	s.room = int(capi.NCtxSeq(s.handle))
	s.batch = newBatch(s.size)
	if width > 0 {
		n, one := uint64(s.size*width), uint64(4)
		lib.fn.calloc.Call(&s.batch.c.Embd, &n, &one) // freed with the batch
		s.hidden = unsafe.Slice(s.batch.c.Embd, n)
	}
	return s, nil
}

// full tells whether n more rows have no place in the batch.
func (s *side) full(n int) bool { return int(s.batch.c.NTokens)+n > s.size }

func (s *side) put(t gpu.Token, pos, seq int, hidden []float32, keep bool) {
	copy(s.hidden[int(s.batch.c.NTokens)*s.width:], hidden)
	s.batch.put(t, pos, seq, keep)
}

func (s *side) decode() error {
	rc, err := capi.Decode(s.handle, s.batch.c)
	if err != nil {
		return fmt.Errorf("compute batch: %w", err)
	}
	return sideError(rc)
}

// sideError is decodeError for a drafter: whatever happens to it, the device goes on.
func sideError(rc int32) error {
	switch rc {
	case decodeOK:
		return nil
	case decodeNoKV:
		return gpu.ErrNoKV
	case decodeAborted:
		return gpu.ErrAborted
	}
	return fmt.Errorf("compute batch: llama.cpp failed with code %d", rc)
}

// logits are those of a row of the last decode, in the library's memory.
func (s *side) logits(row int) ([]float32, error) {
	l, err := capi.GetLogitsIth(s.handle, int32(row), s.vocab)
	if err != nil || l == nil {
		return nil, fmt.Errorf("logits of row %d: llama.cpp has none", row)
	}
	return l, nil
}

// cut forgets the positions of seq from pos on. Only memory that can be cut is opened as a side, so it does not fail.
func (s *side) cut(seq, pos int) {
	if pos == 0 {
		pos = -1
	}
	_, _ = capi.MemorySeqRm(s.memory, capi.SeqId(seq), capi.Pos(pos), -1)
}

// copy makes to, which is empty, hold the first n positions of from. See Device.copyThrough for split KV.
func (s *side) copy(from, to, n int) error {
	if n == 0 {
		return nil
	}
	if !s.split {
		return capi.MemorySeqCp(s.memory, capi.SeqId(from), capi.SeqId(to), 0, capi.Pos(n))
	}
	data, err := s.save(from)
	if err != nil {
		return err
	}
	if err := s.restore(to, data); err != nil {
		return err
	}
	s.cut(to, n)
	return nil
}

func (s *side) save(seq int) ([]byte, error) {
	data := make([]byte, capi.StateSeqGetSize(s.handle, capi.SeqId(seq)))
	if n := capi.StateSeqGetData(s.handle, data, capi.SeqId(seq)); n != uint64(len(data)) {
		return nil, fmt.Errorf("save the drafter's sequence %d: llama.cpp wrote %d of %d bytes", seq, n, len(data))
	}
	return data, nil
}

func (s *side) restore(seq int, data []byte) error {
	if n := capi.StateSeqSetData(s.handle, data, capi.SeqId(seq)); n != uint64(len(data)) {
		s.cut(seq, 0)
		return fmt.Errorf("restore the drafter's sequence %d: llama.cpp read %d of %d bytes", seq, n, len(data))
	}
	return nil
}

// close frees the context. What it refers to, its model and the device's context, must still be there.
func (s *side) close() {
	if s.handle != 0 {
		_ = capi.Free(s.handle)
		s.handle = 0
	}
	if s.batch != nil {
		s.batch.free()
		s.batch, s.hidden = nil, nil
	}
}
