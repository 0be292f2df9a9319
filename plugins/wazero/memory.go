package wazero

import "sync/atomic"

// linearMemory is an instance's memory: addresses for all that it may grow to, reserved at once.
type linearMemory struct {
	whole []byte
	live  *atomic.Int64 // counts those that are not freed
}

func (m *linearMemory) reserve(max uint64) {
	if m.whole = reserve(max); m.whole != nil {
		m.live.Add(1)
	}
}

// Reallocate implements experimental.LinearMemory. It never moves the memory.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.whole)) {
		return nil
	}
	return m.whole[:size]
}

// Free implements experimental.LinearMemory. It may be called more than once.
func (m *linearMemory) Free() {
	if m.whole == nil {
		return
	}
	unreserve(m.whole)
	m.whole = nil
	m.live.Add(-1)
}
