package spec

import (
	"math"
	"slices"
	"sync"

	"github.com/sluice-dev/sluice/gpu"
)

// NoToken is what Sample returns when no logit of the row is finite: there is nothing to draw from.
const NoToken gpu.Token = -1

// Sampler draws the tokens of one request. One goroutine at a time may use it; many samplers may run at once.
type Sampler struct {
	p         Params
	vocab     int
	bias      []bias // by token, so that the result does not depend on a map's order
	penalties bool
}

type bias struct {
	token gpu.Token
	add   float64
}

// NewSampler prepares for a model of vocab tokens. p must be valid (Params.Validate). Biases of tokens that the model
// does not have are ignored.
func NewSampler(p Params, vocab int) *Sampler {
	s := &Sampler{p: p, vocab: vocab}
	for t, b := range p.LogitBias {
		if t >= 0 && int(t) < vocab && b != 0 {
			s.bias = append(s.bias, bias{t, b})
		}
	}
	slices.SortFunc(s.bias, func(a, b bias) int { return int(a.token) - int(b.token) })
	s.penalties = s.repetition() != 1 || p.PresencePenalty != 0 || p.FrequencyPenalty != 0
	return s
}

// Sample draws the token at output index index (0 = the first output token) from a row of logits, which it does not
// change. history is prompt and output so far; its last index tokens are the output.
//
// # Notes
//
//   - The order is: logit bias, penalties, temperature, top-k, min-p, top-p, draw.
//   - Top-k keeps exactly k tokens; min-p keeps tokens at least MinP times as probable as the best one; top-p keeps the
//     smallest set of the most probable tokens that holds TopP of what top-k and min-p left (Holtzman et al. 2019,
//     "The curious case of neural text degeneration"). The best token is always kept.
//   - Equal logits: the lower id is the more probable one. So greedy takes the lowest id.
//   - NaN counts as -Inf. +Inf beats every finite logit. With no logit above -Inf the result is NoToken.
func (s *Sampler) Sample(logits []float32, index int, history []gpu.Token) gpu.Token {
	logits = logits[:min(len(logits), s.vocab)]
	if s.p.Temperature == 0 && !s.penalties && len(s.bias) == 0 {
		return argmax(logits)
	}
	w := scratchPool.Get().(*scratch)
	defer scratchPool.Put(w)
	if s.penalties || len(s.bias) > 0 {
		logits = s.adjust(w, logits, index, history)
	}
	best := argmax(logits)
	if s.p.Temperature == 0 || best == NoToken {
		return best
	}
	u := uniform(s.p.Seed, index)
	if s.truncates() {
		return s.drawTruncated(w, logits, best, u)
	}
	return s.drawFull(w, logits, best, u)
}

func (s *Sampler) truncates() bool {
	return (s.p.TopK > 0 && s.p.TopK < s.vocab) || s.p.MinP > 0 || (s.p.TopP > 0 && s.p.TopP < 1)
}

// drawFull draws from the whole vocabulary, in the order of the ids.
func (s *Sampler) drawFull(w *scratch, logits []float32, best gpu.Token, u float64) gpu.Token {
	target := u * s.fillWeights(w, logits, best)
	acc := 0.0
	last := best
	for i, x := range w.weights {
		acc += x
		if acc > target {
			return gpu.Token(i)
		}
		if x > 0 {
			last = gpu.Token(i)
		}
	}
	return last // u so close to 1 that rounding ate the rest
}

// fillWeights sets w.weights to the probabilities relative to the best token's and returns their sum.
func (s *Sampler) fillWeights(w *scratch, logits []float32, best gpu.Token) (sum float64) {
	w.weights = slices.Grow(w.weights[:0], len(logits))[:len(logits)]
	top, inv := float64(logits[best]), 1/s.p.Temperature
	for i, l := range logits {
		x := weight(float64(l), top, inv)
		w.weights[i] = x
		sum += x
	}
	return sum
}

// weight is exp((l-top)/T), with inv = 1/T: 1 for the best token, 0 for a NaN. Where the best logit is +Inf, only its
// equals have any weight.
func weight(l, top, inv float64) float64 {
	if l == top {
		return 1
	}
	return exp((l - top) * inv)
}

// argmax returns the lowest id among the largest logits. A NaN is never the largest: it compares false.
func argmax(logits []float32) gpu.Token {
	best, id := float32(math.Inf(-1)), NoToken
	for i, l := range logits {
		if l > best {
			best, id = l, gpu.Token(i)
		}
	}
	return id
}

// scratch is working memory that samplers share: a server has many samplers and few that run at one time.
type scratch struct {
	logits  []float32
	weights []float64
	counts  []count
	seen    []gpu.Token
	cands   []cand
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}
