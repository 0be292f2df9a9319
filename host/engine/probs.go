package engine

import (
	"math"

	"github.com/sluice-dev/sluice/gpu"
)

// leastLog stands for the logarithm of a probability too small to say.
const leastLog = -9999

// addProbs notes how probable t was, by the logits as the model gave them.
func (a *active) addProbs(tok gpu.Tokenizer, t gpu.Token, logits []float32) {
	norm := logNorm(logits)
	logprob := func(t gpu.Token) Logprob {
		return Logprob{Token: t, Piece: tok.Piece(t), Log: max(leastLog, float64(logits[t])-norm)}
	}
	p := TokenProbs{Logprob: logprob(t)}
	for _, t := range mostProbable(logits, a.req.TopLogprobs) {
		p.Top = append(p.Top, logprob(t))
	}
	a.unsent.Probs = append(a.unsent.Probs, p)
	a.probAt = append(a.probAt, a.text.pushed)
}

// dropProbs forgets the tokens of a stop string, which nobody sees.
func (a *active) dropProbs() {
	n := len(a.probAt)
	for n > 0 && a.probAt[n-1] >= a.text.end {
		n--
	}
	a.probAt, a.unsent.Probs = a.probAt[:n], a.unsent.Probs[:n]
}

// logNorm is the logarithm of the sum of exp(logits).
func logNorm(logits []float32) float64 {
	top := math.Inf(-1)
	for _, l := range logits {
		top = max(top, float64(l))
	}
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - top)
	}
	return top + math.Log(sum)
}

// mostProbable is the n tokens with the largest logits, the largest first, the lower id among equals.
func mostProbable(logits []float32, n int) []gpu.Token {
	best := make([]gpu.Token, 0, n+1)
	for i, l := range logits {
		if n == 0 || len(best) == n && l <= logits[best[n-1]] || l != l || math.IsInf(float64(l), -1) {
			continue
		}
		at := len(best)
		for at > 0 && l > logits[best[at-1]] {
			at--
		}
		best = append(best, 0)
		copy(best[at+1:], best[at:])
		best[at] = gpu.Token(i)
		best = best[:min(len(best), n)]
	}
	return best
}
