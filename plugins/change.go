package plugins

import (
	"context"
	"fmt"
	"slices"
)

// change is a set of policies on its way into force, and what becomes of those that leave it.
type change struct {
	slots  []slot
	set    *Set
	moves  []move     // state to carry over
	parked []*version // leave the set and stay ready
	gone   []*version // leave the host
	tried  []*version // come back on trial
	events []Event
	done   chan struct{} // closed when it has taken effect

	promoted *version // is a shadow no more; nil for none
}

// move carries state over: always, or only if the version's own was lost with an instance.
type move struct {
	from, to *version
	always   bool
}

// compose starts a change of what is in force. The caller holds changing.
func (h *Host) compose() *change {
	if c := h.staged.Load(); c != nil && h.opt.Inline { // only then can a change be pending here
		h.take(c, h.now)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return &change{slots: slices.Clone(h.slots), done: make(chan struct{})}
}

func (c *change) find(name string) *slot {
	for i := range c.slots {
		if c.slots[i].name == name {
			return &c.slots[i]
		}
	}
	return nil
}

// put makes v the active version of its name, in the place of the one before or at the end of the chain.
func (c *change) put(v *version) {
	s := c.find(v.name)
	if s == nil {
		c.slots = append(c.slots, slot{name: v.name, active: v})
		return
	}
	if s.resting {
		c.gone = append(c.gone, s.fallen)
	}
	old := s.active
	if old != nil && old.quarantined.Load() {
		c.gone = append(c.gone, old)
	} else if old != nil {
		if s.previous != nil {
			c.gone = append(c.gone, s.previous)
		}
		s.previous = old
		c.parked = append(c.parked, old)
		c.moves = append(c.moves, move{old, v, v.shadow == nil})
	}
	s.active, s.fallen, s.resting, s.disabled = v, nil, false, false
}

// back puts the previous version, or the native default, in the place of the active one.
func (c *change) back(name string) (to *version, err error) {
	s := c.find(name)
	if s == nil || s.active == nil && s.fallen == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	if s.previous == nil {
		return nil, c.drop(name)
	}
	to = s.previous
	if old := s.active; old != nil {
		c.gone = append(c.gone, old)
		c.moves = append(c.moves, move{old, to, true})
	}
	if s.resting {
		c.gone = append(c.gone, s.fallen)
	}
	s.active, s.previous, s.fallen, s.resting, s.disabled = to, nil, nil, false, false
	return to, nil
}

// drop removes a name.
func (c *change) drop(name string) error {
	s := c.find(name)
	if s == nil {
		return fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	c.gone = append(c.gone, s.loaded()...)
	c.slots = slices.DeleteFunc(c.slots, func(s slot) bool { return s.name == name })
	return nil
}

// ready gives a version its instances before it is staged.
func (h *Host) ready(ctx context.Context, v *version) error {
	if v.cur == nil {
		v.cur = v.spare.Swap(nil)
	}
	if v.cur == nil {
		g, stage, err := newGuest(ctx, v, false)
		if err != nil {
			return v.refused(stage, err)
		}
		v.cur = g
	}
	if v.spare.Load() != nil || h.opt.Inline {
		return nil
	}
	g, stage, err := newGuest(ctx, v, false)
	if err != nil {
		return v.refused(stage, err)
	}
	v.keepSpare(g)
	return nil
}

// register gives a version its identity for the life of the process.
func (h *Host) register(v *version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.id != 0 {
		return
	}
	v.id = policyID(len(h.refs))
	h.refs = append(h.refs, Ref{Name: v.name, Digest: v.digest})
	h.numbers[v.name]++
	v.number = h.numbers[v.name]
}

// apply stages a change and waits until it is in force. When it returns an error, nothing has changed.
func (h *Host) apply(ctx context.Context, c *change) error {
	c.set = newSet(h, c.slots)
	h.gate.Lock()
	if !h.attached.Load() {
		h.activate(c, h.now)
		h.gate.Unlock()
		return nil
	}
	h.staged.Store(c)
	h.gate.Unlock()
	if h.opt.OnStaged != nil {
		h.opt.OnStaged()
	}
	var err error
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-h.stop:
		err = ErrClosed
	}
	if h.staged.CompareAndSwap(c, nil) {
		return fmt.Errorf("activate policies: %w", err)
	}
	<-c.done // the loop was faster
	return nil
}
