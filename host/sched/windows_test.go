package sched

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSamplesGiveTheNearestRankOfTheNewestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(-50, 50), 1, 600).Draw(t, "values")
		var s samples
		for i, v := range all {
			s.add(int64(i), v)
		}
		kept := slices.Clone(all[max(0, len(all)-256):])
		slices.Sort(kept)
		var sum int64
		for _, v := range kept {
			sum += v
		}
		if s.mean() != sum/int64(len(kept)) {
			t.Fatalf("mean %d of %v", s.mean(), kept)
		}
		for _, percent := range []int{0, 1, 50, 95, 99, 100} {
			rank := max(1, (percent*len(kept)+99)/100)
			if got, want := s.at(percent), kept[rank-1]; got != want {
				t.Fatalf("p%d of %d values is %d, want %d", percent, len(kept), got, want)
			}
		}
	})
}

// The rates must be what a look at all past events would give, however time moves.
func TestWindowsCountWhatTheLastTenSecondsHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w windows
		var at []int64
		now := int64(5e9)
		w.advance(now, false)
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now += rapid.SampledFrom([]int64{0, 1e6, 90e6, 100e6, 950e6, 9_900e6, 10_000e6, 60_000e6}).Draw(t, "dt")
			w.advance(now, false)
			w.arrived()
			at = append(at, now)
		}
		var want int64
		for _, x := range at {
			if x/bucketNS > now/bucketNS-bucketCount {
				want++
			}
		}
		if got := w.total().arrived; got != want {
			t.Fatalf("%d arrivals in the window, want %d", got, want)
		}
	})
}

// A queue that no clock could wait for is reported as the longest wait there is, never as a negative one.
func TestTheEstimateOfTheWaitStopsAtTheLargestNumber(t *testing.T) {
	for _, c := range []struct {
		waiting       int
		drained, busy int64
		want          int64
	}{
		{100, 20, 1e9, 5e9},
		{10_000_000, 1, 1e9, 1e16}, // above what 64 bits hold times 1e12
		{10_000_000, 10_000_000, 1e9, 1e9},
		{10_000_000, 1, 1e12, math.MaxInt64},
	} {
		core := &Core{waiting: make([]*Request, c.waiting)}
		core.win.sum = tally{drained: c.drained, busyNS: c.busy}
		if got, ok := core.estimatedWait(); !ok || got != c.want {
			t.Errorf("%d wait, %d left in %d ns: %d ns (%v), want %d", c.waiting, c.drained, c.busy, got, ok, c.want)
		}
	}
}
