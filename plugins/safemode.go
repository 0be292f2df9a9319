package plugins

import (
	"context"
	"fmt"
)

// safeSwitch is a wish for safe mode, or for its end, on its way to the loop.
type safeSwitch struct {
	on   bool
	done chan struct{}
}

// SafeMode makes the native defaults decide at every hook, from the next step on, or ends that. The policies stay loaded
// and listed, and changes go on, but none is asked and none hears of events, so what they have learned grows old. It waits
// for no compilation and no other change, only for the loop's next Swap; it returns when the switch is in force or a later
// one has overtaken it. An error means that the caller gave up waiting or the host is closed: the switch stands all the same.
func (h *Host) SafeMode(ctx context.Context, on bool) error {
	s := &safeSwitch{on, make(chan struct{})}
	h.gate.Lock()
	if !h.attached.Load() {
		h.switchSafe(s, h.now)
		h.gate.Unlock()
		return nil
	}
	if before := h.switching.Swap(s); before != nil {
		close(before.done)
	}
	h.gate.Unlock()
	if h.opt.OnStaged != nil {
		h.opt.OnStaged()
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("switch safe mode: %w", context.Cause(ctx))
	case <-h.stop:
		return ErrClosed
	}
}

// Safe reports whether the native defaults decide at every hook.
func (h *Host) Safe() bool { return h.safe.Load() }

// takeSwitch puts a waiting switch into force, if there is one.
func (h *Host) takeSwitch(now int64) {
	if s := h.switching.Swap(nil); s != nil {
		h.switchSafe(s, now)
	}
}

// switchSafe puts a switch into force. The caller is the loop, or holds the gate while there is none.
func (h *Host) switchSafe(s *safeSwitch, now int64) {
	if h.safe.Swap(s.on) != s.on {
		h.mu.Lock()
		h.enforce(now)
		h.mu.Unlock()
		reason := "off"
		if s.on {
			reason = "on"
		}
		h.tell(Event{Kind: EventSafeMode, Reason: reason, At: now})
	}
	close(s.done)
}

// enforce makes the chain, or in safe mode nobody, the set in force. The caller is the loop, or holds the gate while there
// is none, and holds mu.
func (h *Host) enforce(now int64) {
	next, safe := newSet(h, nil), h.safe.Load()
	if !safe {
		*next = *h.chain
	}
	next.epoch = h.current.epoch + 1
	h.current = next
	for _, v := range h.chain.all {
		if safe {
			v.activeSince.Store(0)
		} else {
			v.activeSince.CompareAndSwap(0, max(now, 1))
		}
	}
}
