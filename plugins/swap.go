package plugins

import (
	"context"
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

func policyID(n int) abi.PolicyID { return abi.PolicyID(n) }

// Swap returns the set in force and its epoch, after putting a staged change into force. changed says that the set is not
// the one that the last Swap returned. now is the loop's clock in ns. The loop's goroutine calls it between two steps;
// when nothing is staged it costs two atomic loads.
func (h *Host) Swap(now int64) (set abi.Decider, epoch uint32, changed bool) {
	if !h.attached.Load() && !h.opt.Inline {
		h.gate.Lock() // a change that takes effect at once is finished first
		h.attached.Store(true)
		h.gate.Unlock()
	}
	h.now = now
	if c := h.staged.Load(); c != nil {
		h.take(c, now)
	}
	changed = h.current.epoch != h.seen
	h.seen = h.current.epoch
	return h.current, h.seen, changed
}

// Detach says that the loop has ended: changes take effect at once again. The loop's goroutine calls it.
func (h *Host) Detach() {
	h.gate.Lock()
	defer h.gate.Unlock()
	h.attached.Store(false)
	if c := h.staged.Load(); c != nil {
		h.take(c, h.now)
	}
}

// take activates a staged change unless it was withdrawn meanwhile.
func (h *Host) take(c *change, now int64) {
	if h.staged.CompareAndSwap(c, nil) {
		h.activate(c, now)
	}
}

// activate puts a change into force. The caller is the loop, or holds the gate while there is none.
func (h *Host) activate(c *change, now int64) {
	for _, m := range c.moves {
		h.carry(m.from, m.to, now)
	}
	for i := range c.slots { // quarantined after the change was composed
		if prev := c.slots[i].previous; prev != nil && prev.quarantined.Load() {
			c.slots[i].previous = nil
			c.gone = append(c.gone, prev)
		}
	}
	c.set.epoch = h.current.epoch + 1
	h.current = c.set
	for _, v := range c.parked { // now, not by the keeper: a rollback may ready it again at any time
		g := v.cur
		v.cur = nil
		v.activeSince.Store(0)
		h.discard(g.close)
	}
	h.mu.Lock()
	h.slots = c.slots
	for _, v := range c.set.all {
		v.activeSince.CompareAndSwap(0, max(now, 1))
	}
	h.mu.Unlock()
	for _, v := range c.gone {
		h.discard(v.close)
	}
	for _, e := range c.events {
		e.At = now
		h.tell(e)
	}
	h.poke()
	close(c.done)
}

// carry hands the state of a policy to its next version. What goes wrong costs the state and nothing else.
func (h *Host) carry(from, to *version, now int64) {
	if !from.hooks.Has(abi.HookState) || !to.hooks.Has(abi.HookState) || from.cur == nil || to.cur == nil {
		return
	}
	lost := func(err error) {
		h.tell(Event{Kind: EventStateLost, Name: to.name, Digest: to.digest, Err: err, At: now})
	}
	saved, err := from.cur.save(now)
	if err != nil {
		from.stats.fellBack(EntrySave, trapFault(err))
		lost(err)
		return
	}
	if len(saved) == 0 {
		return
	}
	why, err := to.cur.restore(saved, now)
	if err == nil {
		return
	}
	if why != faults {
		to.stats.fellBack(EntryRestore, why)
		h.replace(to, now)
	}
	lost(err)
}

// save views the state that a guest wants to outlive it.
func (g *guest) save(now int64) ([]byte, error) {
	c := g.prepare(EntrySave, 0, now, g.v.seed)
	err := g.inst.Call(c)
	g.v.stats.called(EntrySave, c.Used)
	if err != nil {
		return nil, err
	}
	ptr, size := uint32(uint64(c.Ret)>>32), uint32(uint64(c.Ret))
	view, ok := g.inst.Read(ptr, size)
	if !ok {
		return nil, fmt.Errorf("%s returned %d bytes at %d, which are outside the module's memory", abi.ExportSave, size, ptr)
	}
	return view, nil
}

// restore hands saved state to a guest. The fault is `faults` when the guest is as good as before.
func (g *guest) restore(saved []byte, now int64) (Fault, error) {
	if len(saved) > int(g.lay.config.Len) {
		return faults, fmt.Errorf("%d bytes of state do not fit config_cap %d of the new version", len(saved), g.lay.config.Len)
	}
	c := g.prepare(EntryRestore, len(saved), now, g.v.seed)
	c.In[0] = Segment{Ptr: g.lay.config.Ptr, Data: saved}
	err := g.inst.Call(c)
	c.In[0] = Segment{}
	g.v.stats.called(EntryRestore, c.Used)
	switch {
	case err != nil:
		return trapFault(err), err
	case c.Ret == int64(abi.ReturnAbstain):
		return faults, fmt.Errorf("%s declined the state", abi.ExportRestore)
	case c.Ret != int64(abi.ReturnDecided):
		return FaultBadReturn, fmt.Errorf("%s returned %d: 0 is restored, 1 is declined", abi.ExportRestore, c.Ret)
	}
	return faults, nil
}

// demote replaces a quarantined version by the one before it, else by the native default. An error means that the version
// has left the set meanwhile, or that the host is closing.
func (h *Host) demote(bad *version) {
	ctx := context.Background()
	if h.hold(ctx, h.changing) != nil {
		return
	}
	defer release(h.changing)
	c := h.compose()
	s := c.find(bad.name)
	if s == nil || s.active != bad {
		return
	}
	c.gone = append(c.gone, bad)
	s.active, s.fallen = nil, bad
	if prev := s.previous; prev != nil {
		if err := h.ready(ctx, prev); err != nil {
			h.tell(Event{Kind: EventSpareFailed, Name: prev.name, Digest: prev.digest, Err: err})
			c.gone = append(c.gone, prev)
		} else {
			s.active = prev
			c.events = append(c.events, Event{Kind: EventRestored, Name: prev.name, Digest: prev.digest})
		}
		s.previous = nil
	}
	if h.opt.Inline { // the step goes on with the set that it began with
		c.set = newSet(h, versions(c.slots))
		h.staged.Store(c)
		return
	}
	_ = h.apply(ctx, c) // fails only when the host is closing, which frees all
}
