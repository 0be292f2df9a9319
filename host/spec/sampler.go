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
	grammar   gpu.Grammar
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
//   - The order is: logit bias, penalties, grammar, temperature, top-k, min-p, top-p, draw.
//   - Top-k keeps exactly k tokens; min-p keeps tokens at least MinP times as probable as the best one; top-p keeps the
//     smallest set of the most probable tokens that holds TopP of what top-k and min-p left (Holtzman et al. 2019,
//     "The curious case of neural text degeneration"). The best token is always kept.
//   - Equal logits: the lower id is the more probable one. So greedy takes the lowest id.
//   - NaN counts as -Inf. +Inf beats every finite logit. With no logit above -Inf the result is NoToken.
func (s *Sampler) Sample(logits []float32, index int, history []gpu.Token) gpu.Token {
	if s.p.Temperature == 0 && !s.penalties && len(s.bias) == 0 && s.grammar == nil {
		return argmax(logits[:min(len(logits), s.vocab)])
	}
	w := scratchPool.Get().(*scratch)
	defer scratchPool.Put(w)
	if s.fill(w, &w.dist, logits, index, history) == NoToken {
		return NoToken
	}
	return w.dist.Draw(uniform(s.p.Seed, streamToken, index))
}

// Dist makes d what Sample draws from for the same arguments: Sample is a draw from it. It reports whether there is anything.
func (s *Sampler) Dist(d *Dist, logits []float32, index int, history []gpu.Token) bool {
	w := scratchPool.Get().(*scratch)
	defer scratchPool.Put(w)
	return s.fill(w, d, logits, index, history) != NoToken
}

// fill makes d the distribution and returns its most probable token.
func (s *Sampler) fill(w *scratch, d *Dist, logits []float32, index int, history []gpu.Token) (best gpu.Token) {
	logits = logits[:min(len(logits), s.vocab)]
	if s.penalties || len(s.bias) > 0 {
		logits = s.adjust(w, logits, index, history)
	}
	best = argmax(logits)
	if s.grammar != nil && (s.p.Temperature > 0 || best != NoToken && !s.grammar.Allows(best)) {
		logits = s.mask(w, logits)
		best = argmax(logits)
	}
	switch {
	case best == NoToken:
		d.setCands(nil)
	case s.p.Temperature == 0:
		d.point(best)
	case s.truncates():
		s.truncate(d, logits, best)
	default:
		s.fillWeights(d, logits, best)
		d.cands = nil
	}
	return best
}

func (s *Sampler) truncates() bool {
	return (s.p.TopK > 0 && s.p.TopK < s.vocab) || s.p.MinP > 0 || (s.p.TopP > 0 && s.p.TopP < 1)
}

// fillWeights sets d's weights to the probabilities of all tokens relative to the best one's.
func (s *Sampler) fillWeights(d *Dist, logits []float32, best gpu.Token) {
	d.denseMem = slices.Grow(d.denseMem[:0], len(logits))[:len(logits)]
	d.dense, d.total = d.denseMem, 0
	top, inv := float64(logits[best]), 1/s.p.Temperature
	for i, l := range logits {
		x := weight(float64(l), top, inv)
		d.dense[i] = x
		d.total += x
	}
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
	logits []float32
	counts []count
	seen   []gpu.Token
	dist   Dist
	q      []float64 // by token: zero outside of residual
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}
