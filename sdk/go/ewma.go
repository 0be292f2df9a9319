package sluice

// EWMA is an exponentially weighted moving average in integers. The zero value with a Shift is ready; Shift 0 keeps the
// newest value only.
type EWMA struct {
	Shift uint8 // a new value has the weight 1/2^Shift, 0 to 16

	scaled int64 // the average times 2^Shift
	seeded bool
}

// maxSample keeps scaled in range: as a time, 19 hours.
const maxSample = 1 << 46

// Add takes a value, clamped to 2^46 in size. The first one is the average.
func (e *EWMA) Add(x int64) {
	x = min(max(x, -maxSample), maxSample)
	shift := min(e.Shift, 16)
	if !e.seeded {
		e.seeded, e.scaled = true, x<<shift
		return
	}
	e.scaled += x - e.scaled>>shift
}

// Value is the average, rounded down; ok is false before the first Add.
func (e *EWMA) Value() (x int64, ok bool) { return e.scaled >> min(e.Shift, 16), e.seeded }

// Reset forgets all values.
func (e *EWMA) Reset() { e.scaled, e.seeded = 0, false }
