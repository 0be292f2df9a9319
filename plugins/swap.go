package plugins

import (
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

func policyID(n int) abi.PolicyID { return abi.PolicyID(n) }

// Swap returns the set in force and its epoch, after putting a staged change into force. changed says that the set is not
// the one that the last Swap returned. now is the loop's clock in ns. The loop's goroutine calls it between two steps; when
// nothing is staged it costs a few atomic loads, and a look at how large each instance's memory is.
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
	if h.switching.Load() != nil {
		h.takeSwitch(now)
	}
	if at := h.nextProbe.Load(); at <= now && h.nextProbe.CompareAndSwap(at, never) {
		if h.opt.Inline {
			h.probe(now)
		} else {
			h.tasks.Go(func() { h.probe(now) })
		}
	}
	if len(h.trials) > 0 {
		h.judgeTrials(now)
	}
	h.recycle(now)
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
	h.takeSwitch(h.now)
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
		if m.always || m.to.anew {
			h.carry(m.from.cur, m.to, now)
		}
	}
	for _, s := range c.set.shadows {
		s.since.CompareAndSwap(0, max(now, 1))
	}
	for _, v := range c.tried {
		v.try(now)
	}
	if v := c.promoted; v != nil {
		v.shadow = nil
		v.shadowing.Store(false)
		v.stats.reset()
	}
	for i := range c.slots { // quarantined after the change was composed
		if prev := c.slots[i].previous; prev != nil && prev.quarantined.Load() {
			c.slots[i].previous = nil
			c.gone = append(c.gone, prev)
		}
	}
	h.chain = c.set
	for _, v := range c.parked { // now, not by the keeper: a rollback may ready it again at any time
		g := v.cur
		v.cur = nil
		v.activeSince.Store(0)
		h.discard(g.close)
	}
	for i := range c.slots {
		if s := &c.slots[i]; s.disabled && s.active != nil {
			s.active.activeSince.Store(0)
		}
	}
	h.trials = h.trials[:0]
	for _, v := range c.set.all {
		if v.halfOpen.Load() {
			h.trials = append(h.trials, v)
		}
	}
	h.mu.Lock()
	h.slots = c.slots
	h.enforce(now)
	h.mu.Unlock()
	h.schedule(c.slots)
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

// carry hands the state of an instance to the one of a version. What goes wrong costs the state and nothing else.
func (h *Host) carry(from *guest, to *version, now int64) {
	if from == nil || to.cur == nil || !from.v.hooks.Has(abi.HookState) || !to.hooks.Has(abi.HookState) {
		return
	}
	lost := func(err error) {
		h.tell(Event{Kind: EventStateLost, Name: to.name, Digest: to.digest, Err: err, At: now})
	}
	saved, err := from.save(now)
	if err != nil {
		from.v.stats.fellBack(EntrySave, trapFault(err))
		lost(err)
		return
	}
	if len(saved) == 0 {
		return
	}
	to.anew = false
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
	err := g.run(c)
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
	err := g.run(c)
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
