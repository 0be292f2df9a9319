package sluice_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// A window holds what was added in the bucket in progress and in those before it, and nothing older.
func TestWindowSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := sluice.Window{Width: rapid.Int64Range(1, 50).Draw(t, "width"), Buckets: uint8(rapid.IntRange(1, 64).Draw(t, "buckets"))}
		type addition struct{ at, x int64 }
		var all []addition
		begin := rapid.Int64Range(0, 1000).Draw(t, "begin")
		now := begin
		for range rapid.IntRange(1, 60).Draw(t, "additions") {
			x := rapid.Int64Range(-5, 100).Draw(t, "x")
			w.Add(now, x)
			all = append(all, addition{now, x})
			now += rapid.Int64Range(0, 3*w.Width).Draw(t, "later")
			bucket := func(at int64) int64 { return (at - begin) / w.Width }
			want := int64(0)
			for _, a := range all {
				if bucket(a.at) > bucket(now)-int64(w.Buckets) {
					want += a.x
				}
			}
			if got := w.Sum(now); got != want {
				t.Fatalf("at %d the sum is %d, not %d", now, got, want)
			}
		}
	})
}

// The rate is the sum by the time that the window covers, however large both are.
func TestWindowRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := sluice.Window{Width: rapid.Int64Range(1, 100*sluice.Second).Draw(t, "width"), Buckets: uint8(rapid.IntRange(1, 64).Draw(t, "buckets"))}
		begin := rapid.Int64Range(0, 1<<60).Draw(t, "begin")
		w.Add(begin, 0)
		now := begin + rapid.Int64Range(0, 100*w.Width).Draw(t, "age")
		for range rapid.IntRange(1, 40).Draw(t, "additions") {
			w.Add(now, rapid.Int64().Draw(t, "x"))
		}
		covered := min(now-begin, (int64(w.Buckets)-1)*w.Width+(now-begin)%w.Width)
		us := (max(covered, w.Width) + 999) / 1000
		want := new(big.Int).Mul(big.NewInt(w.Sum(now)), big.NewInt(1_000_000_000))
		want.Quo(want, big.NewInt(us))
		got := w.Rate(now)
		if want.CmpAbs(big.NewInt(1<<62)) >= 0 {
			if got != 1<<62 && got != -1<<62 {
				t.Fatalf("%d does not stop at the limit, and is %d", want, got)
			}
		} else if d := want.Sub(want, big.NewInt(got)); d.Sign() != 0 && got != 1<<62 && got != -1<<62 {
			t.Fatalf("the rate is %d, off by %d", got, d)
		}
	})
}

// Ten requests a second are 10,000 in a thousand seconds, from the first second on.
func TestWindowReadsAsARate(t *testing.T) {
	w := sluice.Window{Width: sluice.Second, Buckets: 10}
	if w.Rate(5*sluice.Second) != 0 || w.Sum(5*sluice.Second) != 0 {
		t.Error("an empty window has a rate")
	}
	for i := range int64(300) {
		now := 7*sluice.Second + i*sluice.Second/10
		w.Add(now, 1)
		if rate := w.Rate(now + sluice.Second/10 - 1); i >= 10 && (rate < 9_990 || rate > 10_010) {
			t.Fatalf("after %d requests the rate is %d", i+1, rate)
		}
	}
	if sum := w.Sum(60 * sluice.Second); sum != 0 {
		t.Errorf("%d are left after half a minute without any", sum)
	}
	w.Add(61*sluice.Second, 5)
	w.Reset()
	if w.Sum(61*sluice.Second) != 0 {
		t.Error("a reset leaves something")
	}
}

// Late news count, and a clock that was set anew is a new beginning.
func TestWindowClock(t *testing.T) {
	w := sluice.Window{Width: 10, Buckets: 3}
	w.Add(100, 1)
	w.Add(95, 2)
	if sum := w.Sum(90); sum != 3 {
		t.Errorf("with late news the sum is %d", sum)
	}
	if sum := w.Sum(70); sum != 0 {
		t.Errorf("after the clock was set anew the sum is %d", sum)
	}
	if w.Add(71, 4); w.Sum(72) != 4 {
		t.Errorf("and %d when something was added", w.Sum(72))
	}
}
