package plugins

import "slices"

// Fault is a way in which a policy fails to decide.
type Fault uint8

// The faults.
const (
	FaultTrap       Fault = iota // the guest trapped or exited
	FaultOutOfFuel               // it used up its budget
	FaultBadReturn               // it returned neither 0 nor 1
	FaultBadOutput               // it wrote a decision that the ABI does not allow
	FaultNoInstance              // it is being replaced after a fault, or is quarantined
	faults
)

var faultNames = [faults]string{"trap", "out_of_fuel", "bad_return", "bad_output", "no_instance"}

// FaultNames lists the names of all faults.
func FaultNames() []string { return slices.Clone(faultNames[:]) }

// String returns the name as it stands in metrics.
func (f Fault) String() string {
	if f < faults {
		return faultNames[f]
	}
	return "unknown"
}

// window remembers the times of the last faults. Its owner is the loop's goroutine.
type window struct {
	at   []int64
	next int
	full bool
}

// add records a fault and reports whether len(at) of them lie within span ns.
func (w *window) add(now, span int64) bool {
	w.at[w.next] = now
	w.next++
	if w.next == len(w.at) {
		w.next, w.full = 0, true
	}
	return w.full && now-w.at[w.next] <= span
}
