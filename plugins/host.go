package plugins

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Host loads policies, keeps the set in force, and replaces it between two steps.
//
// # Notes
//
//   - Swap, Detach and the sets are the loop's: one goroutine. All other methods may be called from any goroutine, except
//     with Options.Inline.
//   - Until the first Swap no loop is running, and changes take effect at once. From then on they wait for the next Swap.
//   - A change is prepared in full before it is staged, and staged as a whole: there is never half of one.
type Host struct {
	rt  Runtime
	opt Options

	preparing chan struct{} // holds the one place for a module that is being compiled and tested
	changing  chan struct{} // held while a change is composed and takes effect; before mu

	gate      sync.Mutex // orders the first Swap and Detach against changes that take effect at once; before mu
	attached  atomic.Bool
	staged    atomic.Pointer[change]     // waits for the loop; written under changing, emptied by whoever takes it
	switching atomic.Pointer[safeSwitch] // waits for the loop; written under gate, emptied by whoever takes it
	nextProbe atomic.Int64               // when a quarantined version is to be tried again
	safe      atomic.Bool                // written with current

	// Owned by the loop.
	chain   *Set       // what the policies make
	current *Set       // in force: chain, or nobody in safe mode
	trials  []*version // that decide on trial
	seen    uint32     // epoch that Swap returned last
	now     int64      // of the last Swap
	scratch *scratch
	samples *samples

	mu      sync.Mutex // guards what follows
	slots   []slot
	refs    []Ref // by PolicyID
	numbers map[string]int
	dead    []func() // instances and versions to free

	wake    chan struct{}
	notices chan notice
	lost    atomic.Uint64 // notices, since it was last said
	stop    chan struct{}
	closing sync.Once
	tasks   sync.WaitGroup
}

// slot is one policy's place in the set.
type slot struct {
	name     string
	active   *version // nil: the native default decides
	previous *version // ready for a rollback; nil for none
	fallen   *version // quarantined, until the next change of this name; nil for none
	resting  bool     // fallen is tried again, and not freed
	disabled bool     // the native default decides in active's place
	shadow   *shadow  // sees what active sees; nil for none
	ended    bool     // shadow was dropped and freed: its report is left
}

// loaded lists the versions that are to be freed with the slot.
func (s *slot) loaded() (all []*version) {
	for _, v := range []*version{s.active, s.previous} {
		if v != nil {
			all = append(all, v)
		}
	}
	if s.resting {
		all = append(all, s.fallen)
	}
	if s.watching() {
		all = append(all, s.shadow.v)
	}
	return all
}

// watching reports whether there is a shadow beside the policy.
func (s *slot) watching() bool { return s.shadow != nil && !s.ended }

// deciding is the version that is asked; nil for none.
func (s *slot) deciding() *version {
	if s.disabled {
		return nil
	}
	return s.active
}

// nativeName is what Ref calls the host's own default.
const nativeName = "native"

// New returns a host with an empty set. The runtime stays the caller's to close, after the host.
func New(rt Runtime, opt Options) *Host {
	h := &Host{
		rt: rt, opt: opt.withDefaults(),
		preparing: make(chan struct{}, 1), changing: make(chan struct{}, 1),
		scratch: new(scratch), samples: newSamples(), refs: []Ref{{Name: nativeName}}, numbers: map[string]int{},
		wake: make(chan struct{}, 1), notices: make(chan notice, 256), stop: make(chan struct{}),
	}
	h.chain, h.current = newSet(h, nil), newSet(h, nil)
	h.nextProbe.Store(never)
	h.safe.Store(h.opt.SafeMode)
	if !h.opt.Inline {
		h.tasks.Go(h.keep)
	}
	return h
}

// Ref names one version of one policy.
type Ref struct {
	Name     string // "native" for the host's own default
	Digest   string // sha256 of the module, hex; "" for the native default
	Fallback bool   // the policy failed and the native default decided
}

// Ref says who a PolicyID is. It knows every version that ever was in the set.
func (h *Host) Ref(id abi.PolicyID) Ref {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := max(id, -id)
	if n < 0 || int(n) >= len(h.refs) {
		return Ref{Name: "unknown"}
	}
	r := h.refs[n]
	r.Fallback = id < 0
	return r
}

// Close frees every policy. No set may be in use any more. It does not close the runtime.
func (h *Host) Close() error {
	h.closing.Do(func() {
		close(h.stop)
		h.tasks.Wait()
		h.preparing <- struct{}{} // whoever prepares or changes sees stop and gives its place up
		h.changing <- struct{}{}
		h.mu.Lock()
		for _, s := range h.slots {
			for _, v := range s.loaded() {
				h.dead = append(h.dead, v.close)
			}
		}
		h.slots = nil
		h.mu.Unlock()
		h.bury()
		h.drainNotices()
	})
	return nil
}

// hold takes one of the host's places, or gives up with ctx or the host.
func (h *Host) hold(ctx context.Context, place chan struct{}) error {
	select { // a closed host refuses even when the place is free
	case <-h.stop:
		return ErrClosed
	default:
	}
	select {
	case place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-h.stop:
		return ErrClosed
	}
}

func release(place chan struct{}) { <-place }
