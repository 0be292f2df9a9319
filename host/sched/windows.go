package sched

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// The rates that policies see are means over the last ten seconds, kept in buckets.
const (
	bucketNS    = int64(100e6)
	bucketCount = 100
	windowNS    = bucketNS * bucketCount
	secondOf    = int(1e9 / bucketNS) // buckets in a second
)

// tally is what happened in one bucket of time.
type tally struct {
	arrived, completed       int64
	drained                  int64 // left the queue for a place after a wait
	busyNS                   int64 // time in which something waited
	prefilled, emitted       int64 // tokens
	classAdmitted, classShed [abi.Classes]uint32
}

func (t *tally) add(o *tally, sign int64) {
	t.arrived += sign * o.arrived
	t.completed += sign * o.completed
	t.drained += sign * o.drained
	t.busyNS += sign * o.busyNS
	t.prefilled += sign * o.prefilled
	t.emitted += sign * o.emitted
}

// windows holds the recent past. Its time only moves in advance.
type windows struct {
	buckets  [bucketCount]tally
	sum      tally // of all buckets but the present one, classes left out
	at       int64 // number of the present bucket
	now      int64
	start    int64
	started  bool
	nonEmpty bool // something waited since now

	step, decodeStep, mixedStep samples
	queueDelay, ttft, itl       samples
	outputs                     [abi.Classes]samples
}

// advance moves to now; waiting tells whether something waits from now on.
func (w *windows) advance(now int64, waiting bool) {
	if !w.started {
		w.started, w.start, w.now, w.at = true, now, now, now/bucketNS
	}
	if w.nonEmpty && now > w.now {
		w.cur().busyNS += now - w.now
	}
	w.now, w.nonEmpty = max(now, w.now), waiting
	to := w.now / bucketNS
	for skipped := 0; w.at < to; skipped++ {
		if skipped == bucketCount {
			w.at = to
			return
		}
		w.sum.add(w.cur(), 1)
		w.at++
		w.sum.add(w.cur(), -1)
		*w.cur() = tally{}
	}
}

func (w *windows) cur() *tally { return &w.buckets[int(w.at%bucketCount)] }

func (w *windows) total() tally {
	t := w.sum
	t.add(w.cur(), 1)
	return t
}

// span is the time that total covers, at least a second.
func (w *windows) span() int64 { return min(max(w.now-w.start, 1e9), windowNS) }

// drainRate is how many requests a thousand seconds leave the queue for the batch while there is a queue.
func (w *windows) drainRate() (milliPerS int64, ok bool) {
	t := w.total()
	if t.drained == 0 || t.busyNS < bucketNS {
		return 0, false
	}
	return t.drained * 1e12 / t.busyNS, true
}

func (w *windows) arrived(now int64)              { w.cur().arrived++ }
func (w *windows) admitted(now int64, r *Request) { w.cur().classAdmitted[r.Class]++ }

func (w *windows) scheduled(now int64, r *Request) {
	w.cur().completed++
	if now > r.Enqueued {
		w.cur().drained++
	}
	w.queueDelay.add(now, now-r.Arrival)
}

func (w *windows) ended(now int64, r *Request) {
	switch r.Outcome {
	case OutcomeShedAtArrival, OutcomeShedFromQueue, OutcomeExpired:
		w.cur().classShed[r.Class]++
	case OutcomeCompleted, OutcomeLength:
		w.outputs[r.Class].add(now, int64(r.Generated))
	}
}

// lastSecond sums one class over the last second.
func (w *windows) lastSecond(class int) (admitted, shed uint32) {
	for i := range int64(secondOf) {
		if w.at-i < 0 {
			break
		}
		b := &w.buckets[int((w.at-i)%bucketCount)]
		admitted += b.classAdmitted[class]
		shed += b.classShed[class]
	}
	return admitted, shed
}

// The quantiles of samples are computed afresh at most this often.
const refreshNS = int64(50e6)

// samples keeps the newest values of one quantity.
type samples struct {
	ring    [256]int64
	n       int
	newest  int64 // when the newest was added
	sumN    int   // n at the last refresh
	fresh   int64 // time of the last refresh
	sorted  [256]int64
	count   int
	meanVal int64
}

func (s *samples) add(now, v int64) {
	s.ring[s.n%len(s.ring)] = v
	s.n++
	s.newest = now
}

// refresh reports whether there is anything recent, and brings the quantiles up to date.
func (s *samples) refresh(now int64) bool {
	if s.n == 0 || now-s.newest > windowNS {
		return false
	}
	if s.sumN == s.n || s.sumN > 0 && now-s.fresh < refreshNS {
		return true
	}
	s.count = min(s.n, len(s.ring))
	copy(s.sorted[:s.count], s.ring[:s.count])
	slices.Sort(s.sorted[:s.count])
	var sum int64
	for _, v := range s.sorted[:s.count] {
		sum += v
	}
	s.meanVal, s.sumN, s.fresh = sum/int64(s.count), s.n, now
	return true
}

// at is the nearest-rank quantile, as of the last refresh.
func (s *samples) at(percent int) int64 {
	rank := (s.count*percent + 99) / 100
	return s.sorted[max(rank, 1)-1]
}
