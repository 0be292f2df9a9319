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
	queried, found           int64 // prompt tokens looked up in the prefix cache, and those that it had
	classAdmitted, classShed [abi.Classes]uint32
}

func (t *tally) add(o *tally, sign int64) {
	t.arrived += sign * o.arrived
	t.completed += sign * o.completed
	t.drained += sign * o.drained
	t.busyNS += sign * o.busyNS
	t.prefilled += sign * o.prefilled
	t.emitted += sign * o.emitted
	t.queried += sign * o.queried
	t.found += sign * o.found
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
	return scaled(t.drained, 1e12, t.busyNS), true
}

// forgotten reports whether there were steps, and none in the last ten seconds.
func (w *windows) forgotten(now int64) bool { return w.step.n > 0 && !w.step.recent(now) }

func (w *windows) arrived()            { w.cur().arrived++ }
func (w *windows) admitted(r *Request) { w.cur().classAdmitted[r.Class]++ }

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

// samples keeps the newest values of one quantity, also in order, so that a quantile is one look-up.
type samples struct {
	ring   [256]int64
	sorted [256]int64
	n      int   // values added since there was none for ten seconds
	sum    int64 // of those kept
	newest int64 // when the newest was added
}

func (s *samples) add(now, v int64) {
	if !s.recent(now) {
		s.n, s.sum = 0, 0
	}
	kept := s.sorted[:s.count()]
	slot := &s.ring[s.n%len(s.ring)]
	if s.n >= len(s.ring) {
		i, _ := slices.BinarySearch(kept, *slot)
		copy(kept[i:], kept[i+1:])
		kept = kept[:len(kept)-1]
		s.sum -= *slot
	}
	i, _ := slices.BinarySearch(kept, v)
	copy(s.sorted[i+1:len(kept)+1], kept[i:])
	s.sorted[i], *slot = v, v
	s.sum += v
	s.n++
	s.newest = now
}

func (s *samples) count() int { return min(s.n, len(s.ring)) }

// recent reports whether there is a value of the last ten seconds.
func (s *samples) recent(now int64) bool { return s.n > 0 && now-s.newest <= windowNS }

func (s *samples) mean() int64 { return s.sum / int64(s.count()) }

// at is the nearest-rank quantile.
func (s *samples) at(percent int) int64 {
	rank := (s.count()*percent + 99) / 100
	return s.sorted[max(rank, 1)-1]
}
