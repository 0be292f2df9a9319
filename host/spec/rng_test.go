package spec

import "testing"

// Draws are uniform and independent along every way in which keys differ: seeds, indexes, streams and rounds.
func TestDrawsAreUniformAndIndependent(t *testing.T) {
	const bins = 20
	flat := func(n int) []float64 {
		p := make([]float64, n)
		for i := range p {
			p[i] = 1 / float64(n)
		}
		return p
	}
	bin := func(u float64) int { return int(u * bins) }
	type pair func(i int) (a, b float64)
	for what, draw := range map[string]pair{
		"seeds":           func(i int) (a, b float64) { return uniform(uint64(2*i), 0, 0), uniform(uint64(2*i+1), 0, 0) },
		"indexes":         func(i int) (a, b float64) { return uniform(5, 0, 2*i), uniform(5, 0, 2*i+1) },
		"streams":         func(i int) (a, b float64) { return uniform(5, streamAccept, i), uniform(5, streamResidual, i) },
		"token and draft": func(i int) (a, b float64) { return uniform(5, streamToken, i), uniform(5, draftStream(i), i) },
		"rounds":          func(i int) (a, b float64) { return uniform(5, draftStream(i), i+3), uniform(5, draftStream(i+1), i+3) },
		"seed and index":  func(i int) (a, b float64) { return uniform(uint64(i), 0, i), uniform(uint64(i), 0, i+1) },
	} {
		one, joint := make([]int, bins), make([]int, bins*bins)
		for i := range draws {
			a, b := draw(i)
			if a < 0 || a >= 1 || b < 0 || b >= 1 {
				t.Fatalf("%s: %g or %g is outside [0, 1)", what, a, b)
			}
			one[bin(a)]++
			joint[bin(a)*bins+bin(b)]++
		}
		chiSquare(t, what, one, flat(bins))
		chiSquare(t, what, joint, flat(bins*bins))
	}
}

// Another seed gives another text, the same one the same.
func TestSeedsMatter(t *testing.T) {
	text := func(seed uint64) (out [32]int32) {
		s := NewSampler(Params{Temperature: 1, Seed: seed}, 16)
		for i := range out {
			out[i] = s.Sample(distributionRow, i, nil)
		}
		return out
	}
	seen := map[[32]int32]uint64{}
	for seed := range uint64(1000) {
		if other, twice := seen[text(seed)]; twice {
			t.Errorf("seeds %d and %d give one text", seed, other)
		}
		if text(seed) != text(seed) {
			t.Errorf("seed %d gives two texts", seed)
		}
		seen[text(seed)] = seed
	}
}
