package plugins

import (
	"context"
	"log/slog"
)

// EventKind is what became of a policy.
type EventKind string

// The kinds of events.
const (
	EventActivated   EventKind = "activated"   // a version decides from now on
	EventRefused     EventKind = "refused"     // a module was not taken
	EventFault       EventKind = "fault"       // a call failed, and its instance was replaced
	EventQuarantined EventKind = "quarantined" // too many faults: the version decides no more
	EventRestored    EventKind = "restored"    // the previous version took a quarantined one's place
	EventRolledBack  EventKind = "rolled_back"
	EventRemoved     EventKind = "removed"
	EventStateLost   EventKind = "state_lost" // it could not be carried over to another instance
	EventSpareFailed EventKind = "spare_failed"
	EventProbing     EventKind = "probing"   // a quarantined version decides again, on trial
	EventRecovered   EventKind = "recovered" // it passed the trial
	EventRecycled    EventKind = "recycled"  // an instance that had grown was replaced, with its state
	EventDisabled    EventKind = "disabled"
	EventEnabled     EventKind = "enabled"
	EventShadowed    EventKind = "shadowed" // a candidate sees a policy's calls from now on
	EventPromoted    EventKind = "promoted" // a shadow decides from now on
	EventUnshadowed  EventKind = "unshadowed"
	EventDropped     EventKind = "dropped"   // too many faults: a shadow sees no more calls
	EventSafeMode    EventKind = "safe_mode" // switched; Reason is on or off
)

// Event is one thing that became of a policy.
type Event struct {
	Kind         EventKind
	Name, Digest string
	Hook, Reason string // of a fault
	Shadow       bool   // a shadow's: nothing that decides was touched
	Err          error  // why; nil where there is nothing to explain
	At           int64  // ns on the host's clock; 0 when it happened outside the loop
}

// notice is what the loop's goroutine has to say, carried to a goroutine that may block.
type notice struct {
	event Event
	guest *version // what follows is a log line of this policy
	level int32
	line  string
}

// tell passes an event on without ever blocking the loop.
func (h *Host) tell(e Event) { h.notify(notice{event: e}) }

// say is how a guest's log line leaves the loop.
func (h *Host) say(v *version, level int32, line string) {
	h.notify(notice{guest: v, level: level, line: line})
}

func (h *Host) notify(n notice) {
	if h.opt.Inline {
		h.deliver(n)
		return
	}
	select {
	case h.notices <- n:
	default:
		h.lost.Add(1)
	}
}

// reportLost says how many notices were dropped since it was last called, if any.
func (h *Host) reportLost() {
	if n := h.lost.Swap(0); n > 0 {
		h.opt.Log.Warn("policies said more than could be passed on", "dropped", n)
	}
}

// deliver logs a notice and calls OnEvent. A refusal is not logged: whoever pushed gets it as an error.
func (h *Host) deliver(n notice) {
	if n.guest != nil {
		level := slog.Level(max(-1, min(n.level, 2)) * 4)
		h.opt.Log.Log(context.Background(), level, n.line, "policy", n.guest.name, "digest", short(n.guest.digest), "source", n.guest.role())
		return
	}
	if n.event.Kind != EventRefused {
		h.logEvent(n.event)
	}
	if h.opt.OnEvent != nil {
		h.opt.OnEvent(n.event)
	}
}

func (h *Host) logEvent(e Event) {
	level := slog.LevelInfo
	switch {
	case e.Err != nil:
		level = slog.LevelWarn
	case e.Kind == EventActivated && e.At == 0:
		level = slog.LevelDebug // before the loop began: whoever starts a set says in one line which one it is
	}
	var attrs []any
	for _, a := range []struct{ key, value string }{{"policy", e.Name}, {"digest", e.Digest}, {"hook", e.Hook}, {"reason", e.Reason}} {
		if a.value != "" {
			attrs = append(attrs, a.key, a.value)
		}
	}
	if e.Shadow {
		attrs = append(attrs, "shadow", true)
	}
	if e.Err != nil {
		attrs = append(attrs, "err", e.Err)
	}
	h.opt.Log.Log(context.Background(), level, "policy "+string(e.Kind), attrs...)
}
