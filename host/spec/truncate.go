package spec

import (
	"math"
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// cand is a token that may be drawn.
type cand struct {
	logit float32
	token gpu.Token
	w     float64 // probability relative to the best token's
}

// before is the order of preference: more probable first, the lower id on a tie. It is total, so what is kept does not
// depend on the algorithm that selects it.
func before(a, b cand) bool {
	return a.logit > b.logit || (a.logit == b.logit && a.token < b.token)
}

func after(a, b cand) bool { return before(b, a) }

// truncate makes d what top-k, min-p and top-p leave, in the order of preference.
func (s *Sampler) truncate(d *Dist, logits []float32, best gpu.Token) {
	top := float64(logits[best])
	cands, total, sorted := d.candMem[:0], 0.0, false
	switch {
	case s.p.TopK > 0 && s.p.TopK < len(logits):
		cands, sorted = topK(cands, logits, s.p.TopK), true
		cands, total = s.weigh(cands, top)
	case s.p.MinP > 0:
		floor := s.minLogit(top)
		for i, l := range logits {
			if float64(l) >= floor {
				cands = append(cands, cand{logit: l, token: gpu.Token(i)})
			}
		}
		cands, total = s.weigh(cands, top)
	default:
		cands, total = s.nucleusCands(d, cands, logits, best)
	}
	d.candMem = cands
	if s.p.TopP > 0 && s.p.TopP < 1 {
		cands = nucleus(cands, s.p.TopP*total, sorted)
	}
	d.setCands(cands)
}

// weigh drops what min-p excludes, sets the weights of the rest and returns it with their sum.
func (s *Sampler) weigh(cands []cand, top float64) (kept []cand, total float64) {
	floor := s.minLogit(top)
	kept = cands[:0]
	for _, c := range cands {
		if float64(c.logit) >= floor {
			c.w = weight(float64(c.logit), top, 1/s.p.Temperature)
			total += c.w
			kept = append(kept, c)
		}
	}
	return kept, total
}

// minLogit is the smallest logit that min-p keeps: probability >= MinP * best means logit >= top + T*ln(MinP).
func (s *Sampler) minLogit(top float64) float64 {
	if s.p.MinP == 0 {
		return math.Inf(-1)
	}
	return top + s.p.Temperature*math.Log(s.p.MinP)
}

// nucleusCands collects what top-p over the whole vocabulary may keep. Tokens below (1-p)/V of the mass hold less than
// 1-p together, so the nucleus lies within the others.
func (s *Sampler) nucleusCands(d *Dist, cands []cand, logits []float32, best gpu.Token) (_ []cand, total float64) {
	s.fillWeights(d, logits, best)
	cutoff := (1 - s.p.TopP) / float64(len(logits)) * d.total
	for i, x := range d.dense {
		if x > 0 && x >= cutoff {
			cands = append(cands, cand{logit: logits[i], token: gpu.Token(i), w: x})
		}
	}
	return cands, d.total
}

// nucleus returns the smallest set of the most probable candidates that weighs at least mass, in order.
func nucleus(cands []cand, mass float64, sorted bool) []cand {
	if !sorted {
		return heapNucleus(cands, mass)
	}
	acc := 0.0
	for i, c := range cands {
		if acc += c.w; acc >= mass {
			return cands[:i+1]
		}
	}
	return cands
}

// heapNucleus takes the best candidates off a heap until they weigh enough: most nuclei are much smaller than the
// candidates, so sorting all of them would be waste.
func heapNucleus(h []cand, mass float64) []cand {
	all := h
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i, before)
	}
	acc := 0.0
	for len(h) > 0 && acc < mass {
		last := len(h) - 1
		acc += h[0].w
		h[0], h[last] = h[last], h[0] // what was taken collects behind the heap, best last
		h = h[:last]
		siftDown(h, 0, before)
	}
	taken := all[len(h):]
	slices.Reverse(taken)
	return taken
}

// topK appends the k best tokens to dst, in order: a heap of k with the worst on top.
func topK(dst []cand, logits []float32, k int) []cand {
	for i, l := range logits {
		c := cand{logit: l, token: gpu.Token(i)}
		switch {
		case l != l || math.IsInf(float64(l), -1):
		case len(dst) < k:
			dst = append(dst, c)
			if len(dst) == k {
				for j := k/2 - 1; j >= 0; j-- {
					siftDown(dst, j, after)
				}
			}
		case l > dst[0].logit: // an equal logit has a higher id, so it does not go before
			dst[0] = c
			siftDown(dst, 0, after)
		}
	}
	slices.SortFunc(dst, func(a, b cand) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	return dst
}

// siftDown restores the heap below i. first tells which of two stands nearer to the root.
func siftDown(h []cand, i int, first func(a, b cand) bool) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && first(h[c+1], h[c]) {
			c++
		}
		if !first(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
