package spec

import (
	"math"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

const draws = 100_000

// reference computes what Sample must draw from, the slow and obvious way: softmax, sort everything, cut.
func reference(p Params, logits []float32) []float64 {
	type tok struct {
		id int
		pr float64
	}
	top := float64(slices.Max(logits))
	toks := make([]tok, len(logits))
	for i, l := range logits {
		toks[i] = tok{i, math.Exp((float64(l) - top) / p.Temperature)}
	}
	slices.SortStableFunc(toks, func(a, b tok) int {
		if a.pr > b.pr {
			return -1
		} else if a.pr < b.pr {
			return 1
		}
		return 0
	})
	if p.TopK > 0 && p.TopK < len(toks) {
		toks = toks[:p.TopK]
	}
	if p.MinP > 0 {
		best := toks[0].pr
		toks = slices.DeleteFunc(toks, func(x tok) bool { return x.pr < p.MinP*best })
	}
	total := 0.0
	for _, x := range toks {
		total += x.pr
	}
	if p.TopP > 0 && p.TopP < 1 {
		acc := 0.0
		for i, x := range toks {
			if acc += x.pr; acc >= p.TopP*total {
				toks, total = toks[:i+1], acc
				break
			}
		}
	}
	out := make([]float64, len(logits))
	for _, x := range toks {
		out[x.id] = x.pr / total
	}
	return out
}

var distributionCases = []Params{
	{Temperature: 1},
	{Temperature: 0.7},
	{Temperature: 1.5, TopK: 7},
	{Temperature: 1, TopP: 0.8},
	{Temperature: 1, MinP: 0.1},
	{Temperature: 1.2, TopK: 12, MinP: 0.05, TopP: 0.9},
}

var distributionRow = []float32{2.1, -1, 0.3, 1.7, 0, -0.2, 1.1, 3, -4, 0.9, 2.2, 1.1, -9, 0.5, 1.9, -2}

func TestSampleHasTheSoftmaxDistribution(t *testing.T) {
	for _, p := range distributionCases {
		p.Seed = 7
		want := reference(p, distributionRow)
		s := NewSampler(p, len(distributionRow))
		bySeed, byIndex := make([]int, len(want)), make([]int, len(want))
		for i := range draws {
			byIndex[s.Sample(distributionRow, i, nil)]++
			q := p
			q.Seed = uint64(i)
			bySeed[NewSampler(q, len(want)).Sample(distributionRow, 3, nil)]++
		}
		chiSquare(t, p, byIndex, want)
		chiSquare(t, p, bySeed, want)
	}
}

// Two tokens of one request, drawn one after the other, are independent: the joint is the product.
func TestTwoTokenJoint(t *testing.T) {
	row := distributionRow[:5]
	p := Params{Temperature: 1}
	one := reference(p, row)
	n := len(one)
	joint, want := make([]int, n*n), make([]float64, n*n)
	for i := range want {
		want[i] = one[i/n] * one[i%n]
	}
	for seed := range uint64(draws) {
		p.Seed = seed
		s := NewSampler(p, n)
		joint[int(s.Sample(row, 0, nil))*n+int(s.Sample(row, 1, nil))]++
	}
	chiSquare(t, p, joint, want)
}

// The joint of a request that speculates, with a drafter that guesses well and one that guesses badly, where the second
// row depends on the first token.
func TestTwoTokenJointThroughVerify(t *testing.T) {
	rows := [][]float32{{1, 0, -1}, {0, 2, 0}, {-1, -1, 1}, {0.5, 0, 0}}
	p := Params{Temperature: 1}
	first := reference(p, rows[0])
	want := make([]float64, 9)
	for i := range want {
		want[i] = first[i/3] * reference(p, rows[1+i/3])[i%3]
	}
	for draft := range gpu.Token(3) {
		joint := make([]int, 9)
		for seed := range uint64(draws) {
			p.Seed = seed
			s := NewSampler(p, 3)
			history := []gpu.Token{}
			row := func(i int) ([]float32, error) {
				if i == 0 {
					return rows[0], nil
				}
				return rows[1+draft], nil // what the device computed: the row after the draft
			}
			n, err := Verify(s, row, Draft{Tokens: []gpu.Token{draft}}, 0, &history)
			if err != nil {
				t.Fatal(err)
			}
			if n == 1 { // rejected: the next step computes the row after the token that was emitted
				next := func(int) ([]float32, error) { return rows[1+history[0]], nil }
				if _, err := Verify(s, next, Draft{}, 1, &history); err != nil {
					t.Fatal(err)
				}
			}
			joint[history[0]*3+history[1]]++
		}
		chiSquare(t, p, joint, want)
	}
}

// For any row and parameters, what is drawn has a probability in the reference, and the whole of a small reference is hit.
func TestSampleStaysWithinTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "vocab")
		row := make([]float32, n)
		for i := range row {
			row[i] = float32(rapid.IntRange(-20, 20).Draw(t, "logit")) // many ties
		}
		p := Params{
			Temperature: rapid.SampledFrom([]float64{0.1, 0.8, 1, 2}).Draw(t, "temperature"),
			TopK:        rapid.IntRange(0, n+1).Draw(t, "top_k"),
			TopP:        rapid.SampledFrom([]float64{0, 0.1, 0.333, 0.9, 0.999, 1}).Draw(t, "top_p"),
			MinP:        rapid.SampledFrom([]float64{0, 0.0123, 0.2, 0.77}).Draw(t, "min_p"),
		}
		want := reference(p, row)
		for seed := range uint64(50) {
			p.Seed = seed
			got := NewSampler(p, n).Sample(row, int(seed), nil)
			if want[got] == 0 {
				t.Fatalf("drew %d, which %+v excludes", got, p)
			}
		}
	})
}

// chiSquare fails when the counts differ from the expected distribution with p < 1e-4.
func chiSquare(t *testing.T, what any, counts []int, want []float64) {
	t.Helper()
	if z := deviation(counts, want); z > limit {
		t.Errorf("%+v: the counts %v differ from the expected distribution %.4f (z = %.1f)", what, counts, want, z)
	}
}

// limit is the deviation that one true distribution in 10,000 exceeds.
const limit = 3.72

// deviation is the chi-square statistic of the counts as a standard normal one (Wilson-Hilferty approximation), +Inf when something
// was drawn that has no probability.
func deviation(counts []int, want []float64) float64 {
	n := 0
	for _, c := range counts {
		n += c
	}
	x, df := 0.0, -1
	rare, expected := 0, 0.0 // cells too small to stand for themselves
	for i, w := range want {
		e := w * float64(n)
		switch {
		case e == 0 && counts[i] > 0:
			return math.Inf(1)
		case e < 5:
			rare, expected = rare+counts[i], expected+e
			continue
		}
		d := float64(counts[i]) - e
		x += d * d / e
		df++
	}
	if expected >= 5 {
		d := float64(rare) - expected
		x += d * d / expected
		df++
	}
	if df < 1 {
		return 0
	}
	k := float64(df)
	return (math.Cbrt(x/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}
