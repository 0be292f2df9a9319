package spec

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

// lookup is prompt lookup without an index: the longest suffix, the most recent occurrence, by looking everywhere.
func lookup(h []gpu.Token, k, nmin, nmax int) (draft []gpu.Token, n int) {
	for n := nmax; n >= nmin; n-- {
		if n > len(h) {
			continue
		}
		for end := len(h) - 1; end >= n; end-- {
			if slices.Equal(h[end-n:end], h[len(h)-n:]) {
				return continued(h, end, k), n
			}
		}
	}
	return nil, 0
}

// continued is what follows h[:end], token by token, and what h would go on with if it went on as it repeats.
func continued(h []gpu.Token, end, k int) (draft []gpu.Token) {
	period := len(h) - end
	repeats := end >= period
	for i := 0; repeats && i < period; i++ {
		repeats = h[len(h)-1-i] == h[len(h)-1-i-period]
	}
	h = slices.Clone(h)
	for i := range k {
		if i >= period {
			if !repeats {
				break
			}
			h = append(h, h[len(h)-period])
		}
		draft = append(draft, h[end+i])
	}
	return draft
}

// Over a growing history and changing sizes, the index finds what a search of the whole history finds; so every draft is
// what really followed an earlier occurrence of the suffix.
func TestNGramFindsWhatASearchFinds(t *testing.T) {
	hits := 0
	rapid.Check(t, func(t *rapid.T) {
		vocab := rapid.SampledFrom([]int32{1, 2, 5, 30, 1 << 30}).Draw(t, "vocab")
		token := rapid.Int32Range(0, vocab-1)
		var g NGram
		history := rapid.SliceOfN(token, 0, 60).Draw(t, "prompt")
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			k := rapid.IntRange(0, 15).Draw(t, "k")
			nmin := rapid.IntRange(1, 5).Draw(t, "nmin")
			nmax := rapid.IntRange(nmin, MaxNGram).Draw(t, "nmax")
			want, n := lookup(history, k, nmin, nmax)
			got := g.Draft(history, k, nmin, nmax, []gpu.Token{-7})
			if k > 0 && g.HitLength() != n {
				t.Fatalf("hit length %d, want %d", g.HitLength(), n)
			}
			if got[0] != -7 || !slices.Equal(got[1:], want) {
				t.Fatalf("history %v, k %d, n %d..%d: drafted %v, want %v", history, k, nmin, nmax, got[1:], want)
			}
			hits += len(want)
			history = append(history, rapid.SliceOfN(token, 0, 6).Draw(t, "emitted")...)
			if rapid.Bool().Draw(t, "append early") {
				g.Append(history)
			}
		}
	})
	if hits == 0 {
		t.Error("nothing was ever drafted: the test shows nothing")
	}
}

func TestNGramReset(t *testing.T) {
	var g NGram
	h := []gpu.Token{1, 2, 3, 1, 2}
	if got := g.Draft(h, 4, 1, 3, nil); !slices.Equal(got, []gpu.Token{3, 1, 2}) {
		t.Errorf("drafted %v", got)
	}
	g.Reset()
	if got := g.Draft([]gpu.Token{9, 1, 2}, 4, 1, 3, nil); got != nil {
		t.Errorf("drafted %v from the text before Reset", got)
	}
	// A shorter history without Reset is another text too.
	if got := g.Draft([]gpu.Token{5, 5}, 4, 1, 3, nil); !slices.Equal(got, []gpu.Token{5, 5, 5, 5}) {
		t.Errorf("drafted %v", got)
	}
}

func TestNGramGoesOnWithWhatRepeats(t *testing.T) {
	for _, c := range []struct{ history, want []gpu.Token }{
		{[]gpu.Token{9, 1, 2, 1, 2}, []gpu.Token{1, 2, 1, 2, 1, 2, 1}}, // two periods
		{[]gpu.Token{9, 1, 2, 3, 1, 2}, []gpu.Token{3, 1, 2}},          // less than two
		{[]gpu.Token{4, 4, 4}, []gpu.Token{4, 4, 4, 4, 4, 4, 4}},
		{[]gpu.Token{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2}, []gpu.Token{3, 4, 5, 6, 7, 8, 9}},
	} {
		var g NGram
		if got := g.Draft(c.history, 7, 2, 3, nil); !slices.Equal(got, c.want) {
			t.Errorf("%v: drafted %v, want %v", c.history, got, c.want)
		}
	}
}

func TestNGramOddSizes(t *testing.T) {
	var g NGram
	h := []gpu.Token{1, 1}
	if got := g.Draft(h, 3, 0, 1000, nil); !slices.Equal(got, []gpu.Token{1, 1, 1}) {
		t.Errorf("sizes are clamped: drafted %v", got)
	}
	for _, c := range [][3]int{{0, 1, 2}, {-1, 1, 2}, {3, 4, 2}, {3, 1, 0}, {3, MaxNGram + 1, 99}} {
		if got := g.Draft(h, c[0], c[1], c[2], nil); got != nil {
			t.Errorf("max %d, n %d..%d drafted %v", c[0], c[1], c[2], got)
		}
	}
	if got := g.Draft(nil, 3, 1, 2, nil); got != nil {
		t.Errorf("empty history drafted %v", got)
	}
}
