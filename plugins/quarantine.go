package plugins

import (
	"context"
	"math"
	"runtime/debug"
)

// recoverCalls is how many calls a version on trial must answer without a fault, over a whole fault window.
const recoverCalls = 64

// never is a moment that the host's clock does not reach.
const never = math.MaxInt64

// trial is how a version that was quarantined earns its place back. Its owner is the loop's goroutine, and while the
// version rests whoever holds Host.changing.
type trial struct {
	rest  int64  // ns that it rested last; 0 when it has recovered
	since int64  // when the trial began
	calls uint64 // decisions until then
}

// quarantine takes a version out of service. Until the set changes, its hooks get the native default.
func (h *Host) quarantine(v *version, now int64, err error) {
	v.quarantined.Store(true)
	v.halfOpen.Store(false)
	kind, leave := EventQuarantined, h.demote
	if v.shadow != nil {
		why := err.Error()
		v.shadow.dropped.Store(&why)
		kind, leave = EventDropped, h.drop
	}
	h.tell(Event{Kind: kind, Name: v.name, Digest: v.digest, Err: err, At: now, Shadow: v.shadow != nil})
	h.rest(v, now)
	if h.opt.Inline {
		leave(v)
		return
	}
	h.tasks.Go(func() {
		leave(v)
		debug.FreeOSMemory() // see giveBack
	})
}

// rest sets when a version is tried again.
func (h *Host) rest(v *version, now int64) {
	v.trial.rest = h.opt.Backoff.after(v.trial.rest)
	at := int64(never)
	if v.trial.rest > 0 && now < never-v.trial.rest {
		at = now + v.trial.rest
	}
	v.probeAt.Store(at)
}

// demote replaces a quarantined version by the one before it, which then stays: a version that comes and goes is worse
// than an old one. Without one before, the native default decides while the version rests.
func (h *Host) demote(bad *version) {
	h.leave(bad, func(ctx context.Context, c *change, s *slot) bool {
		if s.active != bad {
			return false
		}
		s.active, s.fallen, s.resting = nil, bad, true
		prev := s.previous
		s.previous = nil
		if prev == nil {
			c.parked = append(c.parked, bad)
			return true
		}
		if err := h.ready(ctx, prev); err != nil {
			h.tell(Event{Kind: EventSpareFailed, Name: prev.name, Digest: prev.digest, Err: err})
			c.gone, c.parked = append(c.gone, prev), append(c.parked, bad)
			return true
		}
		s.active, s.resting = prev, false
		c.gone = append(c.gone, bad)
		c.events = append(c.events, Event{Kind: EventRestored, Name: prev.name, Digest: prev.digest})
		return true
	})
}

// leave makes a change that follows from a version's faults, if it still holds its place then. It has no error: such a
// change only fails when the host is closing, which frees all.
func (h *Host) leave(v *version, make func(context.Context, *change, *slot) bool) {
	ctx := context.Background()
	if h.hold(ctx, h.changing) != nil {
		return
	}
	defer release(h.changing)
	c := h.compose()
	s := c.find(v.name)
	if s == nil || !make(ctx, c, s) {
		return
	}
	if h.opt.Inline { // the step goes on with the set that it began with
		c.set = newSet(h, c.slots)
		h.staged.Store(c)
		return
	}
	_ = h.apply(ctx, c)
}

// probe puts the versions that have rested back on trial. A version that cannot start rests again.
func (h *Host) probe(now int64) {
	ctx := context.Background()
	if h.hold(ctx, h.changing) != nil {
		return
	}
	defer release(h.changing)
	c := h.compose()
	for i := range c.slots {
		s := &c.slots[i]
		if s.fallen == nil || s.probeAt() > now {
			continue
		}
		v := s.fallen
		if err := h.ready(ctx, v); err != nil {
			h.tell(Event{Kind: EventSpareFailed, Name: v.name, Digest: v.digest, Err: err, At: now})
			h.rest(v, now)
			continue
		}
		s.active, s.fallen, s.resting = v, nil, false
		c.tried = append(c.tried, v)
		c.events = append(c.events, Event{Kind: EventProbing, Name: v.name, Digest: v.digest})
	}
	if len(c.tried) == 0 {
		h.schedule(c.slots)
		return
	}
	_ = h.apply(ctx, c) // fails only when the host is closing, which frees all
}

// probeAt is when a policy is tried again.
func (s *slot) probeAt() int64 {
	if !s.resting || s.disabled {
		return never
	}
	return s.fallen.probeAt.Load()
}

// schedule sets when Swap must look for versions to try again. The caller holds changing, or activates a change.
func (h *Host) schedule(slots []slot) {
	at := int64(never)
	for i := range slots {
		at = min(at, slots[i].probeAt())
	}
	h.nextProbe.Store(at)
}

// try begins a version's trial.
func (v *version) try(now int64) {
	v.quarantined.Store(false)
	v.halfOpen.Store(true)
	v.recent = window{at: make([]int64, len(v.recent.at))}
	v.trial.since, v.trial.calls = now, v.stats.decisions()
}

// judgeTrials ends the trials that have been passed. A fault has ended the others.
func (h *Host) judgeTrials(now int64) {
	left := h.trials[:0]
	for _, v := range h.trials {
		switch {
		case !v.halfOpen.Load():
		case now-v.trial.since < h.opt.FaultWindow || v.stats.decisions()-v.trial.calls < recoverCalls:
			left = append(left, v)
		default:
			v.halfOpen.Store(false)
			v.trial.rest = 0
			h.tell(Event{Kind: EventRecovered, Name: v.name, Digest: v.digest, At: now})
		}
	}
	h.trials = left
}
