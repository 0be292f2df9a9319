package llama

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// A saved sequence is what llama_state_seq_get_data gives, with a trailer of ours: which device made it, how many tokens it
// holds, and a checksum of all before it. llama.cpp believes every byte of it: a damaged one stalls it for seconds, or is
// taken and computes nonsense.
const trailerSize = 8 + 4 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save returns what seq holds. The sequence stays as it is.
func (d *Device) Save(seq int) (*gpu.Saved, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return nil, err
	}
	if !d.info.CanSave {
		return nil, fmt.Errorf("save sequence %d: %w", seq, gpu.ErrUnsupported)
	}
	if err := d.checkSeq(seq); err != nil {
		return nil, fmt.Errorf("save: %w", err)
	}
	tokens := d.kv.length(seq)
	if tokens == 0 {
		return nil, fmt.Errorf("save sequence %d: it holds nothing", seq)
	}
	data, err := d.readState(seq, d.spare.take)
	if err != nil {
		return nil, fmt.Errorf("save sequence %d: %w", seq, err)
	}
	data = binary.LittleEndian.AppendUint64(data, d.id)
	data = binary.LittleEndian.AppendUint32(data, uint32(tokens))
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	return &gpu.Saved{Tokens: tokens, Data: data, State: d.saveDraft(seq)}, nil
}

// Recycle lets a later Save have the memory of s, which nobody may use any more.
func (d *Device) Recycle(s *gpu.Saved) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spare.give(s.Data)
	s.Data = nil
}

// Restore makes seq, which must be empty, hold what this device has saved. It wraps gpu.ErrNoKV when the cells are not there;
// after an error the sequence is empty.
func (d *Device) Restore(seq int, s *gpu.Saved) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if err := d.restore(seq, s); err != nil {
		return fmt.Errorf("restore sequence %d: %w", seq, err)
	}
	return nil
}

func (d *Device) restore(seq int, s *gpu.Saved) error {
	if !d.info.CanSave {
		return gpu.ErrUnsupported
	}
	if err := d.checkSeq(seq); err != nil {
		return err
	}
	if n := d.kv.length(seq); n != 0 {
		return fmt.Errorf("it holds %d tokens", n)
	}
	state, err := d.checkSaved(s)
	if err != nil {
		return err
	}
	if err := d.checkRoom(s.Tokens); err != nil {
		return err
	}
	if err := d.writeState(seq, state, s.Tokens); err != nil {
		return err
	}
	d.restoreDraft(seq, s.State)
	return nil
}

// checkSaved gives the part of s that is llama.cpp's.
func (d *Device) checkSaved(s *gpu.Saved) (state []byte, err error) {
	if s == nil || len(s.Data) <= trailerSize {
		return nil, errors.New("nothing was saved")
	}
	state = s.Data[:len(s.Data)-trailerSize]
	trailer := s.Data[len(state):]
	switch {
	case crc32.Checksum(s.Data[:len(s.Data)-4], castagnoli) != binary.LittleEndian.Uint32(trailer[12:]):
		return nil, errors.New("what was saved is damaged")
	case binary.LittleEndian.Uint64(trailer) != d.id:
		return nil, errors.New("what was saved is another device's")
	case int(binary.LittleEndian.Uint32(trailer[8:])) != s.Tokens || s.Tokens > d.info.ContextTokens:
		return nil, fmt.Errorf("what was saved does not hold %d tokens", s.Tokens)
	}
	return state, nil
}

// readState gives what the library keeps of seq, in memory from room, which has room for as many bytes as it is asked for.
func (d *Device) readState(seq int, room func(int) []byte) ([]byte, error) {
	size := capi.StateSeqGetSize(d.ctx.Handle, capi.SeqId(seq))
	if size == 0 {
		return nil, errors.New("llama.cpp gives no size of its state")
	}
	buf := room(int(size) + trailerSize)[:size]
	if got := capi.StateSeqGetData(d.ctx.Handle, buf, capi.SeqId(seq)); got != size {
		return nil, fmt.Errorf("llama.cpp wrote %d bytes of its state, not %d", got, size)
	}
	return buf, nil
}

// writeState makes seq hold state, and looks whether llama.cpp understood it so.
func (d *Device) writeState(seq int, state []byte, tokens int) error {
	id := capi.SeqId(seq)
	got := capi.StateSeqSetData(d.ctx.Handle, state, id)
	first, err1 := capi.MemorySeqPosMin(d.ctx.Memory, id)
	last, err2 := capi.MemorySeqPosMax(d.ctx.Memory, id)
	if got != uint64(len(state)) || err1 != nil || err2 != nil || first != 0 || int(last) != tokens-1 {
		_, _ = capi.MemorySeqRm(d.ctx.Memory, id, -1, -1) // dropping a whole sequence never fails
		return fmt.Errorf("llama.cpp took %d of %d bytes, and holds positions %d to %d", got, len(state), first, last)
	}
	d.kv.grow(seq, tokens)
	return nil
}
