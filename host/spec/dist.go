package spec

import (
	"iter"

	"github.com/sluice-dev/sluice/gpu"
)

// Dist is what one token is drawn from: the tokens that may come, with their weights, in the order in which a draw walks through
// them. Sampler.Dist fills it; its memory is used again. The zero value is empty.
type Dist struct {
	cands []cand    // where it is truncated
	dense []float64 // else: the weight of each token of the vocabulary
	total float64   // of the weights, summed in their order

	candMem  []cand // what cands and dense are parts of
	denseMem []float64
}

// point makes d the distribution in which t is certain.
func (d *Dist) point(t gpu.Token) {
	d.setCands(append(d.candMem[:0], cand{token: t, w: 1}))
}

// setCands makes d the distribution over cands, by their weights.
func (d *Dist) setCands(cands []cand) {
	d.cands, d.dense, d.total = cands, nil, 0
	for _, c := range cands {
		d.total += c.w
	}
}

// certain reports whether there is but one token that may come.
func (d *Dist) certain() bool { return len(d.cands) == 1 }

// Prob is the probability of t.
func (d *Dist) Prob(t gpu.Token) float64 {
	if d.dense != nil {
		if t < 0 || int(t) >= len(d.dense) {
			return 0
		}
		return d.dense[t] / d.total
	}
	for _, c := range d.cands {
		if c.token == t {
			return c.w / d.total
		}
	}
	return 0
}

// All yields the tokens that may come with their weights, in the order of a draw. Prob is weight over Total.
func (d *Dist) All() iter.Seq2[gpu.Token, float64] {
	return func(yield func(gpu.Token, float64) bool) {
		for i, w := range d.dense {
			if w > 0 && !yield(gpu.Token(i), w) {
				return
			}
		}
		for _, c := range d.cands {
			if c.w > 0 && !yield(c.token, c.w) {
				return
			}
		}
	}
}

// Total is the sum of all weights; 0 for an empty Dist.
func (d *Dist) Total() float64 { return d.total }

// Draw returns the token at u of the total weight, u in [0, 1); NoToken from an empty Dist.
func (d *Dist) Draw(u float64) gpu.Token {
	target, acc, last := u*d.total, 0.0, NoToken
	for i, w := range d.dense {
		if acc += w; acc > target {
			return gpu.Token(i)
		}
		if w > 0 {
			last = gpu.Token(i)
		}
	}
	for _, c := range d.cands {
		if acc += c.w; acc > target {
			return c.token
		}
		if c.w > 0 {
			last = c.token
		}
	}
	return last // u so close to 1 that rounding ate the rest
}

// without takes the tokens for which drop reports true out of d.
func (d *Dist) without(drop func(gpu.Token) bool) {
	if d.dense != nil {
		d.total = 0
		for i := range d.dense {
			if drop(gpu.Token(i)) {
				d.dense[i] = 0
			}
			d.total += d.dense[i]
		}
		return
	}
	kept := d.cands[:0]
	for _, c := range d.cands {
		if !drop(c.token) {
			kept = append(kept, c)
		}
	}
	d.setCands(kept)
}

// most is the highest token that may come.
func (d *Dist) most() gpu.Token {
	if d.dense != nil {
		return gpu.Token(len(d.dense) - 1)
	}
	most := NoToken
	for _, c := range d.cands {
		most = max(most, c.token)
	}
	return most
}
