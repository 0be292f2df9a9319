package admin

import (
	"sync"
	"time"
)

// flood lets refusals of nobody known through, so many at once and so many a second after that. Whoever may not change
// anything must not be able to push the entries of those who did out of the files.
type flood struct {
	mu      sync.Mutex // guards what follows
	left    float64
	at      time.Time
	skipped uint64
}

const (
	floodBurst = 100
	floodRate  = 1 // a second
)

// pass tells whether one more may be written at now, and how many before it were not.
func (f *flood) pass(now time.Time) (ok bool, skipped uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = min(floodBurst, f.left+now.Sub(f.at).Seconds()*floodRate)
	f.at = now
	if f.left < 1 {
		f.skipped++
		return false, 0
	}
	f.left--
	skipped, f.skipped = f.skipped, 0
	return true, skipped
}
