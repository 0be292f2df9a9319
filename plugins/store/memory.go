package store

import (
	"fmt"
	"slices"
	"sync"
)

// Memory is a store that lasts as long as the process. Its methods may be called from any goroutine.
type Memory struct {
	mu      sync.Mutex
	modules map[string][]byte
	set     *Manifest
	entries []Entry
	last    Entry
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{modules: map[string][]byte{}} }

// memoryEntries is how many entries a Memory keeps.
const memoryEntries = 1000

// Put stores a module, as Store.Put does.
func (m *Memory) Put(wasm []byte) (digest string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	digest = digestOf(wasm)
	m.modules[digest] = wasm
	return digest, nil
}

// Get returns a module. It is not to be changed.
func (m *Memory) Get(digest string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if wasm, ok := m.modules[digest]; ok {
		return wasm, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrMissing, digest)
}

// Commit is as Store.Commit, and never fails.
func (m *Memory) Commit(set *Manifest, e Entry) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Seq, e.Revision = m.last.Seq+1, m.last.Revision
	if e.Refused == "" {
		e.Revision++
	}
	if set != nil {
		set.Revision, set.Change = e.Revision, e
		m.set = set
	}
	m.last = e
	m.entries = append(m.entries, e)
	if len(m.entries) > memoryEntries {
		m.entries = slices.Clone(m.entries[1:])
	}
	m.collect()
	return e, nil
}

// collect forgets the modules that neither the set nor the recent history names.
func (m *Memory) collect() {
	var sets []*Manifest
	if m.set != nil {
		sets = append(sets, m.set)
	}
	needed := named(sets, m.entries[max(0, len(m.entries)-recentEntries):])
	for digest := range m.modules {
		if !needed[digest] {
			delete(m.modules, digest)
		}
	}
}

// Manifest is the set in force. It is not to be changed.
func (m *Memory) Manifest() (*Manifest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.set, m.set != nil
}

// Kept lists the set in force, if there is one.
func (m *Memory) Kept() []*Manifest {
	if set, ok := m.Manifest(); ok {
		return []*Manifest{set}
	}
	return nil
}

// Revision is that of the newest change.
func (m *Memory) Revision() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last.Revision
}

// History is as Store.History, of the last 1000 entries.
func (m *Memory) History(limit int, before uint64) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return newest(m.entries, limit, before), nil
}

// Warnings is empty.
func (m *Memory) Warnings() []string { return nil }

// FellBack is false.
func (m *Memory) FellBack() bool { return false }

// Close does nothing.
func (m *Memory) Close() error { return nil }
