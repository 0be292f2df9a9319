package goodput

import (
	"math/bits"

	"github.com/sluice-dev/sluice/gpu"
)

const buckets = len(gpu.Costs{}.Step)

// How what is observed changes what is believed.
const (
	learning  = 1.0 / 8
	assumed   = 0.25 // cost of a draft a row in steps, where nothing at all is known
	mostRatio = 2.0  // a step that took longer by more is an accident as much as a fact
)

// costs is the time of a step by rows and drafts: that of a plain step, and what drafts multiply it by. The two are kept apart
// because they change apart: longer contexts and a busy machine slow all steps alike, and only the factor matters to
// a decision.
type costs struct {
	plain [buckets]float64               // ns; 0 = not known
	times [buckets][MaxDraft + 1]float64 // by drafts a row; 0 = not known
	draft float64                        // ns to draft one token
}

func newCosts(c gpu.Costs) (t costs) {
	t.draft = float64(c.DraftToken)
	for b := range c.Step {
		t.times[b][0] = 1
		plain := float64(c.Step[b][0])
		t.plain[b] = plain
		for k := 1; k < len(c.Step[b]) && plain > 0; k++ {
			t.times[b][k] = float64(c.Step[b][k]) / plain
		}
	}
	return t
}

// around is the two buckets that rows lies between, and how far it is from the first to the second.
func around(rows int) (lo, hi int, f float64) {
	lo = bits.Len(uint(max(rows, 1))) - 1
	if lo >= buckets-1 {
		return buckets - 1, buckets - 1, 0
	}
	return lo, lo + 1, float64(rows-1<<lo) / float64(int(1)<<lo)
}

// nearest is the bucket closest to b for which known holds, the smaller one of two; -1 = none.
func nearest(b int, known func(b int) bool) int {
	for d := range buckets {
		if b-d >= 0 && known(b-d) {
			return b - d
		}
		if b+d < buckets && known(b+d) {
			return b + d
		}
	}
	return -1
}

// plainNS is the time of a step of so many rows without drafts; 0 = not known. It is not scaled to sizes beyond those that are known.
func (t *costs) plainNS(rows int) float64 {
	lo, hi, f := around(rows)
	known := func(b int) bool { return t.plain[b] > 0 }
	if lo, hi = nearest(lo, known), nearest(hi, known); lo < 0 {
		return 0
	}
	return t.plain[lo]*(1-f) + t.plain[hi]*f
}

// factor is the time of a step of so many rows with drafts a row in the mean, over that of one without.
func (t *costs) factor(rows int, drafts float64) float64 {
	if drafts == 0 {
		return 1
	}
	lo, hi, f := around(rows)
	return t.inBucket(lo, drafts)*(1-f) + t.inBucket(hi, drafts)*f
}

// inBucket is factor at one of the measured sizes, or at the closest one with a measured step with drafts.
func (t *costs) inBucket(b int, drafts float64) float64 {
	b = nearest(b, func(b int) bool { return t.next(b, 1) > 0 })
	if b < 0 {
		return 1 + assumed*drafts
	}
	k0 := int(drafts)
	for t.times[b][k0] == 0 {
		k0--
	}
	if float64(k0) == drafts {
		return t.times[b][k0]
	}
	if k1 := t.next(b, k0+1); k1 > 0 {
		return between(k0, t.times[b][k0], k1, t.times[b][k1], drafts)
	}
	k := k0 - 1 // beyond the largest known: on along the last two
	for t.times[b][k] == 0 {
		k--
	}
	return max(t.times[b][k0], between(k, t.times[b][k], k0, t.times[b][k0], drafts))
}

// next is the smallest known number of drafts of at least k; 0 = none.
func (t *costs) next(b, k int) int {
	for ; k <= MaxDraft; k++ {
		if t.times[b][k] > 0 {
			return k
		}
	}
	return 0
}

// between is the value at x of the line through two points.
func between(x0 int, y0 float64, x1 int, y1 float64, x float64) float64 {
	return y0 + (y1-y0)*(x-float64(x0))/float64(x1-x0)
}

// ns is the time of a step, drafting included; 0 = not known.
func (t *costs) ns(rows, drafts int) float64 {
	return t.plainNS(rows)*t.factor(rows, float64(drafts)/float64(rows)) + t.draft*float64(drafts)
}

// learn takes in a step of so many rows and drafts that took ns.
func (t *costs) learn(rows, drafts int, ns float64) {
	if drafts == 0 {
		t.learnPlain(rows, ns)
	} else if plain := t.plainNS(rows); plain > 0 {
		t.learnFactor(rows, float64(drafts)/float64(rows), (ns-t.draft*float64(drafts))/plain)
	}
}

func (t *costs) learnPlain(rows int, ns float64) {
	lo, hi, f := around(rows)
	size, far := lo, 1-f // the bucket that stands for this size
	if f >= 0.5 {
		size, far = hi, f
	}
	if t.plain[size] == 0 {
		t.plain[size] = ns
		return
	}
	ratio := clamp(ns / t.plainNS(rows))
	t.plain[size] *= 1 + learning*far*(ratio-1)
	if other := lo + hi - size; t.plain[other] > 0 {
		t.plain[other] *= 1 + learning*(1-far)*(ratio-1)
	}
}

// learnFactor corrects the cells around the step by their share in it. A cell that is not known yet takes the step as it was.
func (t *costs) learnFactor(rows int, drafts, factor float64) {
	lo, hi, f := around(rows)
	k := min(int(drafts), MaxDraft-1)
	g := min(drafts-float64(k), 1)
	ratio := clamp(factor / t.factor(rows, drafts))
	for _, c := range [4]struct {
		b, k   int
		weight float64
	}{{lo, k, (1 - f) * (1 - g)}, {lo, k + 1, (1 - f) * g}, {hi, k, f * (1 - g)}, {hi, k + 1, f * g}} {
		cell := &t.times[c.b][c.k]
		switch {
		case c.k == 0:
		case *cell > 0:
			*cell *= 1 + learning*c.weight*(ratio-1)
		case c.weight >= 0.25:
			*cell = max(1, 1+(factor-1)*float64(c.k)/drafts)
		}
	}
}

func clamp(ratio float64) float64 { return min(max(ratio, 1/mostRatio), mostRatio) }
