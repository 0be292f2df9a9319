package sluice

// Window adds up what happened in a sliding window of time, in buckets of equal width: the one in progress and those before
// it. The zero value with Width and Buckets is ready, and its time begins with the first Add.
//
// Its rules, which all SDKs share, to the integer:
//
//   - Width counts as 1 ns to 100 s, Buckets as 1 to 64, times as 0 to 2^62. A value is clamped to 2^46 in size, and a
//     bucket's sum to 2^56.
//   - A time earlier than the latest one counts as the latest, unless it is earlier by Width*Buckets or more: then the clock
//     was set anew, everything is forgotten, and time begins there.
type Window struct {
	Width   int64 // ns, of one bucket
	Buckets uint8

	sums   [maxBuckets]int64
	begin  int64 // of the first bucket
	latest int64
	head   int64 // number of the bucket in progress, from begin on
	begun  bool
}

const (
	maxBuckets = 64
	maxWidth   = 100 * Second
	maxTime    = 1 << 62
	maxBucket  = 1 << 56
)

// Add counts x at the time now, in ns.
func (w *Window) Add(now, x int64) {
	if w.begun {
		w.advance(now)
	} else {
		w.start(now)
	}
	sum := &w.sums[w.head%w.buckets()]
	*sum = min(max(*sum+min(max(x, -maxSample), maxSample), -maxBucket), maxBucket)
}

// Sum is what was added in the window that ends at now.
func (w *Window) Sum(now int64) int64 {
	w.advance(now)
	sum := int64(0)
	for _, x := range w.sums[:w.buckets()] {
		sum += x
	}
	return sum
}

// Rate is the sum per 1,000 seconds, rounded towards 0 and clamped to 2^62 in size. The divisor is the time that the window
// covers: from its first bucket's beginning, or from the first Add if that was later, to now; at least Width; in
// microseconds, rounded up.
func (w *Window) Rate(now int64) int64 {
	sum := w.Sum(now)
	age := w.latest - w.begin
	covered := min(age, (w.buckets()-1)*w.width()+age%w.width())
	us := (max(covered, w.width()) + 999) / 1000
	const milli = 1_000_000_000 // of one event a microsecond
	whole, rest := sum/us, sum%us
	if whole >= maxTime/milli {
		return maxTime
	}
	if whole <= -maxTime/milli {
		return -maxTime
	}
	return whole*milli + rest*milli/us
}

// Reset forgets everything.
func (w *Window) Reset() {
	w.start(0)
	w.begun = false
}

func (w *Window) start(now int64) {
	now = clampTime(now)
	w.sums = [maxBuckets]int64{}
	w.begun, w.begin, w.latest, w.head = true, now, now, 0
}

// advance empties the buckets that the window has moved over.
func (w *Window) advance(now int64) {
	if !w.begun {
		return
	}
	now = clampTime(now)
	n := w.buckets()
	if now <= w.latest {
		if w.latest-now >= n*w.width() {
			w.start(now)
		}
		return
	}
	w.latest = now
	head := (now - w.begin) / w.width()
	for i := max(w.head, head-n) + 1; i <= head; i++ {
		w.sums[i%n] = 0
	}
	w.head = head
}

func (w *Window) width() int64   { return min(max(w.Width, 1), maxWidth) }
func (w *Window) buckets() int64 { return min(max(int64(w.Buckets), 1), maxBuckets) }

func clampTime(ns int64) int64 { return min(max(ns, 0), maxTime) }
