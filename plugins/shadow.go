package plugins

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// shadow is a candidate beside a policy: it is asked what the policy is asked, and its answers are compared and not obeyed.
type shadow struct {
	v       *version
	since   atomic.Int64           // on the host's clock; 0 = not yet
	dropped atomic.Pointer[string] // why it is asked no more; nil while it is
	tally   [hooks]tally

	mu   sync.Mutex // guards what follows; held for no longer than a copy takes
	last [maxDifferences]difference
	seen int // differences ever

	// Where answers are checked and compared. Owned by the loop.
	verdicts     [abi.MaxRows]abi.Verdict
	mine, theirs [abi.MaxRows]abi.Ranking
	k            [abi.MaxRows]int32
	lex          lex
}

// tally counts how a shadow's answers compare at one hook. The loop's goroutine writes, any may read.
type tally struct {
	agree, differ atomic.Uint64
	would         [woulds]atomic.Uint64
}

// sees reports whether the shadow is asked.
func (s *shadow) sees() bool { return s.dropped.Load() == nil }

// Shadow prepares a policy as Push does, and puts it beside the one of its name, or as a new name at the end of the chain.
// From the next step on it sees the same calls as that policy: the rows that those before it in the chain have left, and the
// events. Its answers are counted and compared with that policy's own, not with the chain's; where there is none, or it has
// no such hook, with no opinion. They are never obeyed, and its faults touch nothing: after as many as quarantine a policy
// it is dropped, and its report stays. A name has one shadow; another takes its place. It begins with the policy's state, as
// a version that is pushed does, and from then on it learns by itself. It returns when the shadow is in place.
func (h *Host) Shadow(ctx context.Context, name string, wasm []byte, config map[string]string) error {
	cand, err := h.Prepare(ctx, name, wasm, config)
	if err != nil {
		return err
	}
	if err := h.Attach(ctx, cand); err != nil {
		cand.Close()
		return err
	}
	return nil
}

// Attach is the second half of Shadow. After an error the candidate is still the caller's to close or activate.
func (h *Host) Attach(ctx context.Context, cand *Candidate) error {
	v := cand.v
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("shadow policy %s: %w", v.name, err)
	}
	defer release(h.changing)
	c := h.compose()
	s := c.find(v.name)
	if s == nil {
		c.slots = append(c.slots, slot{name: v.name})
		s = c.find(v.name)
	}
	if s.watching() {
		c.gone = append(c.gone, s.shadow.v)
	}
	if s.active != nil {
		c.moves = append(c.moves, move{s.active, v, true})
	}
	v.shadow = &shadow{v: v}
	v.shadowing.Store(true)
	s.shadow, s.ended = v.shadow, false
	c.events = append(c.events, Event{Kind: EventShadowed, Name: v.name, Digest: v.digest, Shadow: true})
	return h.apply(ctx, c)
}

// Promote puts a shadow into force in the place of the policy beside which it stood, which is then what a rollback goes back
// to. It keeps what it has learned; only if it lost that with an instance that failed does it get that policy's state. Its
// counters begin anew. It returns when the policy decides.
func (h *Host) Promote(ctx context.Context, name string) error {
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("promote policy %s: %w", name, err)
	}
	defer release(h.changing)
	c := h.compose()
	s := c.find(name)
	if s == nil || s.shadow == nil {
		return fmt.Errorf("promote policy: %w: %q", ErrNoShadow, name)
	}
	v := s.shadow.v
	if why := s.shadow.dropped.Load(); why != nil {
		return fmt.Errorf("promote policy: %w: %q: it was dropped: %s", ErrNoShadow, name, *why)
	}
	s.shadow = nil
	h.register(v)
	c.put(v)
	c.promoted = v
	c.events = append(c.events, Event{Kind: EventPromoted, Name: name, Digest: v.digest})
	return h.apply(ctx, c)
}

// Unshadow takes a shadow away, with its report.
func (h *Host) Unshadow(ctx context.Context, name string) error {
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("drop shadow of policy %s: %w", name, err)
	}
	defer release(h.changing)
	c := h.compose()
	s := c.find(name)
	if s == nil || s.shadow == nil {
		return fmt.Errorf("drop shadow: %w: %q", ErrNoShadow, name)
	}
	event := Event{Kind: EventUnshadowed, Name: name, Digest: s.shadow.v.digest, Shadow: true}
	if s.active == nil && s.fallen == nil {
		_ = c.drop(name) // it was just found
	} else {
		if s.watching() {
			c.gone = append(c.gone, s.shadow.v)
		}
		s.shadow, s.ended = nil, false
	}
	c.events = append(c.events, event)
	return h.apply(ctx, c)
}

// drop frees a shadow that failed too often, and leaves its report.
func (h *Host) drop(bad *version) {
	h.leave(bad, func(_ context.Context, c *change, s *slot) bool {
		if !s.watching() || s.shadow.v != bad {
			return false
		}
		s.ended = true
		c.gone = append(c.gone, bad)
		return true
	})
}
