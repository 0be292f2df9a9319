package plugins

import (
	"fmt"
	"sync"

	"github.com/sluice-dev/sluice/plugins/abi"
)

const (
	sampleEvery = 250_000_000 // ns of the host's clock between two calls of a hook that are kept
	sampleCount = 3           // calls that are kept of a hook
)

// sampled are the hooks whose calls are kept.
var sampled = [...]Entry{EntryAdmit, EntryPrioritize, EntryBatchCap, EntrySpeculate}

// samples are the last real calls, on which candidates are tested. The loop's goroutine writes, and never waits for it:
// while another reads, nothing is kept.
type samples struct {
	due   [Entries]int64 // owned by the loop: when the next call is kept
	mu    sync.Mutex     // guards what follows
	calls [Entries]recent
}

// recent is a ring of calls.
type recent struct {
	kept [sampleCount]sample
	n    int // that were ever kept
}

type sample struct {
	st   abi.State
	rows []abi.Row
}

func newSamples() *samples {
	s := &samples{}
	for _, e := range sampled {
		for i := range s.calls[e].kept {
			if e.TakesLength() {
				s.calls[e].kept[i].rows = make([]abi.Row, 0, abi.MaxRows)
			}
		}
	}
	return s
}

// keep keeps a copy of a call when one is due. It allocates nothing.
func (s *samples) keep(e Entry, st *abi.State, rows []abi.Row) {
	if st.NowNS < s.due[e] || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	s.due[e] = st.NowNS + sampleEvery
	r := &s.calls[e]
	x := &r.kept[r.n%sampleCount]
	r.n++
	x.st = *st
	x.rows = append(x.rows[:0], rows...)
}

// states copies what is kept of a hook, the oldest first.
func (s *samples) states(e Entry) (all []golden) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.calls[e]
	for i := max(0, r.n-sampleCount); i < r.n; i++ {
		x := &r.kept[i%sampleCount]
		all = append(all, golden{
			name: fmt.Sprintf("step %d of this server", x.st.StepID), st: x.st, rows: append([]abi.Row(nil), x.rows...),
		})
	}
	return all
}
