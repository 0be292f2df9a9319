package wazero

// linearMemory is an instance's memory: addresses for all that it may grow to, reserved at once.
type linearMemory struct{ whole []byte }

func (m *linearMemory) reserve(max uint64) { m.whole = reserve(max) }

// Reallocate implements experimental.LinearMemory. It never moves the memory.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.whole)) {
		return nil
	}
	return m.whole[:size]
}

// Free implements experimental.LinearMemory. It may be called more than once.
func (m *linearMemory) Free() {
	unreserve(m.whole)
	m.whole = nil
}
