package sched

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/gpu"
)

// As many tokens as are said to fit into some work are that work, to a token; one more would be too much.
func TestTokensAreWhatTheWorkAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start, slope := rapid.IntRange(0, maxTokens).Draw(t, "start"), rapid.Int64Range(0, maxFar).Draw(t, "slope")
		w := rapid.Int64Range(-5, maxWork).Draw(t, "work")
		n := tokens(start, w, slope)
		switch {
		case w <= 0 && n != 0:
			t.Fatalf("%d tokens fit into no work", n)
		case w > 0 && n < 1:
			t.Fatal("not even one token fits")
		case n > 1 && work(start, n, slope) > w:
			t.Fatalf("%d tokens are %d of %d", n, work(start, n, slope), w)
		case w > 0 && n < maxTokens && work(start, n+1, slope) <= w:
			t.Fatalf("only %d tokens fit", n)
		}
	})
}

// What a share gives away is gone from it, and its halves are all of it.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := share{rapid.IntRange(0, 1<<14).Draw(t, "tokens"), rapid.Int64Range(0, maxWork).Draw(t, "work")}
		slope := rapid.Int64Range(0, 8*unit).Draw(t, "slope")
		s := whole.half()
		s.merge(whole.rest())
		if s != whole {
			t.Fatalf("%v is %v in halves", whole, s)
		}
		for range 4 {
			start := rapid.IntRange(0, 1<<14).Draw(t, "start")
			n := s.of(start, slope)
			if (n == 0) != s.none() {
				t.Fatalf("%d tokens are in %v", n, s)
			}
			s.take(start, n, slope)
			if n > 0 && (s.tokens < 0 || s.work < -token(start+n, slope)) {
				t.Fatalf("%v is left after %d tokens", s, n)
			}
		}
		before := s
		if s.merge(whole); s.work < whole.work || s.tokens != before.tokens+whole.tokens {
			t.Fatalf("%v and %v are %v", before, whole, s)
		}
	})
}

func TestPricesAreRelativeToATokenAtTheBeginning(t *testing.T) {
	for _, c := range []struct {
		name     string
		costs    gpu.Costs
		rows     [2]int64 // slope in a step of 63 and of 64 rows
		thousand int64    // work of a token at 1,024, in steps of 63 rows
	}{
		{"nothing is known", gpu.Costs{PrefillFar: 1e6, WideRows: 64, PrefillFarWide: 5e5}, [2]int64{0, 0}, unit},
		{"one price", gpu.Costs{PrefillToken: 1e6, PrefillFar: 2e6}, [2]int64{2 * unit, 2 * unit}, 3 * unit},
		{"two prices", gpu.Costs{PrefillToken: 1e6, PrefillFar: 2e6, WideRows: 64, PrefillFarWide: 5e5}, [2]int64{2 * unit, unit / 2}, 3 * unit},
		{"the second was lost in the noise", gpu.Costs{PrefillToken: 1e6, PrefillFar: 2e6, WideRows: 64}, [2]int64{2 * unit, 2 * unit}, 3 * unit},
		{"the second is no better", gpu.Costs{PrefillToken: 1e6, PrefillFar: 2e6, WideRows: 64, PrefillFarWide: 2e6}, [2]int64{2 * unit, 2 * unit}, 3 * unit},
		{"absurd", gpu.Costs{PrefillToken: 1, PrefillFar: 1 << 62}, [2]int64{maxFar, maxFar}, unit + maxFar},
	} {
		p := newPrice(&c.costs)
		if got := [2]int64{p.slope(63), p.slope(64)}; got != c.rows {
			t.Errorf("%s: slopes %v, want %v", c.name, got, c.rows)
		}
		if got := work(1024, 1, p.slope(63)); got != c.thousand {
			t.Errorf("%s: a token at 1,024 is %d, want %d", c.name, got, c.thousand)
		}
	}
}
