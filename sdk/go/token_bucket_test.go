package sluice_test

import (
	"testing"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// What is refused would be let through after the wait that it is given, and not a nanosecond earlier.
func TestTokenBucketWaitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := sluice.TokenBucket{Rate: rapid.Int64Range(1, 8_000_000_000).Draw(t, "rate"), Burst: rapid.Int64Range(1, 1_000_000_000_000).Draw(t, "burst")}
		now := rapid.Int64Range(0, 1<<60).Draw(t, "now")
		for range rapid.IntRange(1, 20).Draw(t, "takes") {
			n := rapid.Int64Range(1, b.Burst).Draw(t, "n")
			was := b
			ok, wait := b.Take(now, n)
			if ok {
				now += rapid.Int64Range(0, sluice.Minute).Draw(t, "later")
				continue
			}
			if wait <= 0 {
				t.Fatalf("%d are refused with a wait of %d", n, wait)
			}
			if wait > 1<<61 {
				return // its time is beyond what a clock shows
			}
			early, late := was, was
			early.Level(now)
			late.Level(now)
			if ok, again := early.Take(now+wait-1, n); ok || again != 1 {
				t.Fatalf("%d of %d are there a nanosecond before the wait of %d is over (or %d after)", n, b.Burst, wait, again)
			}
			if ok, _ := late.Take(now+wait, n); !ok {
				t.Fatalf("%d of %d are not there after the wait of %d", n, b.Burst, wait)
			}
			now += rapid.Int64Range(0, min(wait, 1<<50)).Draw(t, "meanwhile")
		}
	})
}

// However often and at whatever times it is asked, no more comes through than Burst and what Rate brings, and no less is let
// through when everybody keeps to the waits.
func TestTokenBucketKeepsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := sluice.TokenBucket{Rate: rapid.Int64Range(1, 100_000).Draw(t, "rate"), Burst: rapid.Int64Range(1, 50).Draw(t, "burst")}
		taken, now := int64(0), int64(0)
		for range 200 {
			ok, wait := b.Take(now, 1)
			if ok {
				taken++
				continue
			}
			now += min(wait, rapid.Int64Range(1, sluice.Second).Draw(t, "step"))
		}
		most := b.Burst*1000 + now/1000*b.Rate/1_000_000 + b.Rate/1_000_000 + 1
		if taken*1000 > most {
			t.Fatalf("%d came through in %d ns at %d a 1,000 s and a burst of %d", taken, now, b.Rate, b.Burst)
		}
	})
}

func TestTokenBucketEdges(t *testing.T) {
	b := sluice.TokenBucket{Rate: 1000, Burst: 2}
	for i, c := range []struct {
		now, n, wait int64
		ok           bool
	}{
		{10, 3, sluice.Forever, false}, {10, 0, 0, true}, {10, -5, 0, true}, {10, 2, 0, true}, {10, 1, sluice.Second, false},
		{10 + sluice.Second, 1, 0, true}, {5, 1, sluice.Second, false}, {5 + sluice.Second/2, 1, sluice.Second / 2, false},
	} {
		if ok, wait := b.Take(c.now, c.n); ok != c.ok || wait != c.wait {
			t.Errorf("take %d: %v, %d", i, ok, wait)
		}
	}
	if b.Give(6, 100); b.Level(6) != 2000 {
		t.Errorf("with 100 given back the level is %d", b.Level(6))
	}
	never := sluice.TokenBucket{Burst: 1}
	if ok, _ := never.Take(0, 1); !ok {
		t.Error("it does not begin full")
	}
	if ok, wait := never.Take(1<<62, 1); ok || wait != sluice.Forever {
		t.Errorf("at a rate of 0: %v, %d", ok, wait)
	}
}
