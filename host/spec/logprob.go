package spec

import (
	"math"

	"github.com/sluice-dev/sluice/gpu"
)

// LogProb is a token with the natural logarithm of its probability, which is at most 0.
type LogProb struct {
	Token gpu.Token
	Log   float64
}

// LogProbs returns the logarithm of t's probability in the softmax of a row as the model computed it: before bias, penalties,
// grammar, temperature and truncation. It appends the top most probable tokens to out, the most probable first and the lower id
// among equals. A token with no probability, or outside the row, has -Inf.
func LogProbs(logits []float32, t gpu.Token, top int, out []LogProb) (own float64, _ []LogProb) {
	best := argmax(logits)
	if best == NoToken {
		return math.Inf(-1), out
	}
	norm := math.Log(mass(logits, best))
	of := func(t gpu.Token) float64 {
		switch l := float64(logits[t]); {
		case l == float64(logits[best]):
			return -norm // also where both are +Inf
		case math.IsNaN(l):
			return math.Inf(-1)
		default:
			return l - float64(logits[best]) - norm
		}
	}
	own = math.Inf(-1)
	if t >= 0 && int(t) < len(logits) {
		own = of(t)
	}
	if top <= 0 {
		return own, out
	}
	w := scratchPool.Get().(*scratch)
	defer scratchPool.Put(w)
	w.dist.candMem = topK(w.dist.candMem[:0], logits, top)
	for _, c := range w.dist.candMem {
		out = append(out, LogProb{c.token, of(c.token)})
	}
	return own, out
}

// mass is the sum of all weights relative to the best token's.
func mass(logits []float32, best gpu.Token) (sum float64) {
	for _, l := range logits {
		sum += weight(float64(l), float64(logits[best]), 1)
	}
	return sum
}

// probability is t's in the softmax of the row.
func probability(logits []float32, t gpu.Token) float64 {
	best := argmax(logits)
	return weight(float64(logits[t]), float64(logits[best]), 1) / mass(logits, best)
}
