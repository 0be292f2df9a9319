package plugins

import (
	"context"
	"errors"
	"fmt"
)

// keep is the host's own goroutine: it does what the loop must not wait for.
func (h *Host) keep() {
	for {
		select {
		case <-h.stop:
			return
		case n := <-h.notices:
			h.deliver(n)
			h.reportLost()
		case <-h.wake:
			h.bury()
			h.refill()
		}
	}
}

// poke wakes the keeper.
func (h *Host) poke() {
	select {
	case h.wake <- struct{}{}:
	default: // it is already on its way
	}
}

// discard hands something to be freed to the keeper; inline it is freed now.
func (h *Host) discard(free func()) {
	if h.opt.Inline {
		free()
		return
	}
	h.mu.Lock()
	h.dead = append(h.dead, free)
	h.mu.Unlock()
	h.poke()
}

// bury frees what was discarded.
func (h *Host) bury() {
	h.mu.Lock()
	dead := h.dead
	h.dead = nil
	h.mu.Unlock()
	for _, free := range dead {
		free()
	}
}

// refill gives every version that is asked a spare. Only the keeper frees versions, so none is freed meanwhile.
func (h *Host) refill() {
	for _, v := range h.asked() {
		if v.quarantined.Load() || v.spare.Load() != nil {
			continue
		}
		g, _, err := newGuest(context.Background(), v, false)
		if err != nil {
			h.tell(Event{Kind: EventSpareFailed, Name: v.name, Digest: v.digest, Err: err})
			continue
		}
		v.keepSpare(g)
	}
}

// asked lists the versions in force and those beside them.
func (h *Host) asked() (all []*version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.slots {
		if s.active != nil {
			all = append(all, s.active)
		}
		if s.watching() {
			all = append(all, s.shadow.v)
		}
	}
	return all
}

func (h *Host) drainNotices() {
	for {
		select {
		case n := <-h.notices:
			h.deliver(n)
		default:
			h.reportLost()
			return
		}
	}
}

// fault counts a failed call, replaces the instance, and quarantines the version after too many. It is called by the
// loop's goroutine, for versions in force and for shadows. On trial one fault is too many.
func (h *Host) fault(v *version, e Entry, why Fault, err error, now int64) {
	v.stats.fellBack(e, why)
	if why == FaultNoInstance {
		if h.opt.Inline && !v.quarantined.Load() {
			h.replace(v, now)
		}
		h.poke()
		return
	}
	err = fmt.Errorf("policy %s@%s: %w", v.name, short(v.digest), err)
	h.tell(Event{Kind: EventFault, Name: v.name, Digest: v.digest, Hook: e.hookName(), Reason: why.String(), Err: err, At: now,
		Shadow: v.shadow != nil})
	if !v.halfOpen.Load() && !v.recent.add(now, h.opt.FaultWindow) {
		h.replace(v, now)
		return
	}
	h.discard(v.cur.close)
	v.cur = nil
	h.quarantine(v, now, err)
}

// replace throws the instance in use away: after a trap its stack pointer is not restored, and using it again would
// corrupt its data silently. The spare takes over; without one the version answers with the native default for a while.
func (h *Host) replace(v *version, now int64) {
	v.stats.replaced.Add(1)
	v.anew = true
	h.discard(v.cur.close)
	v.cur = nil
	if !h.opt.Inline {
		v.takeSpare()
		h.poke()
		return
	}
	g, _, err := newGuest(context.Background(), v, false)
	if err != nil {
		h.tell(Event{Kind: EventSpareFailed, Name: v.name, Digest: v.digest, Err: err, At: now})
		return
	}
	v.cur = g
}

// trapFault tells an exhausted budget from all else. A guest that dies in so many words that they use up its budget has
// trapped.
func trapFault(err error) Fault {
	var t *Trap
	if errors.As(err, &t) && t.OutOfFuel && !t.died() {
		return FaultOutOfFuel
	}
	return FaultTrap
}
