package sluice

// Hysteresis is a switch that a value moves, and that does not flap when the value does. It goes on at once when the value
// is greater than Above, and off when the value has been at most Below for Hold. The zero value with limits is off.
type Hysteresis struct {
	Above, Below int64 // Below <= Above
	Hold         int64 // in the unit of Update's at: steps or ns; 0 = off at once

	on, calm bool
	since    int64 // start of the calm
}

// Update moves the switch and reports whether it is on. at must not decrease; a jump back restarts Hold.
func (h *Hysteresis) Update(at, value int64) bool {
	switch {
	case value > h.Above:
		h.on, h.calm = true, false
	case !h.on:
	case value > h.Below:
		h.calm = false
	case !h.calm || at < h.since:
		h.calm, h.since = true, at
	}
	if h.calm && at-h.since >= h.Hold {
		h.on, h.calm = false, false
	}
	return h.on
}

// On reports the switch's position.
func (h *Hysteresis) On() bool { return h.on }
