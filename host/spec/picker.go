package spec

import (
	"github.com/sluice-dev/sluice/gpu"
)

// draftCands is how many tokens a draft is drawn from. Verification is exact for any distribution that drafts really come from, and the
// tail of a drafter's is its worst part.
const draftCands = 128

// Picker chooses a request's drafts from a drafter's logits and keeps what they were drawn from. At temperature 0 it takes the most
// probable token; else it draws under the request's own parameters. Tokens that end a text are never drafted. It belongs to one
// request and to one goroutine at a time.
//
//	p.Begin(history, index, 0)
//	rows := []gpu.DraftRow{{Seq: seq, History: history, Max: k, Pick: p.Pick}}
//	err := drafter.Draft(rows)
//	draft := p.Draft()
type Picker struct {
	s     *Sampler
	ends  func(gpu.Token) bool
	least float64

	text  []gpu.Token // the history, and the drafts after it
	known int         // tokens of the history
	index int
	q     []Dist
}

// NewPicker prepares for a model of vocab tokens. ends reports whether a token ends a text; nil = none does.
func NewPicker(p Params, vocab int, ends func(gpu.Token) bool) *Picker {
	if p.TopK == 0 || p.TopK > draftCands {
		p.TopK = draftCands
	}
	if ends == nil {
		ends = func(gpu.Token) bool { return false }
	}
	return &Picker{s: NewSampler(p, vocab), ends: ends}
}

// Begin starts a round of drafts after history, whose last index tokens are the output. Drafting stops before a token whose row says
// that even the best one has a probability below least; 0 = never.
func (p *Picker) Begin(history []gpu.Token, index int, least float64) {
	p.text = append(p.text[:0], history...)
	p.known, p.index, p.least = len(history), index, least
}

// Pick implements gpu.DraftRow.Pick. Whether the round ends is decided by the row alone and never by what is drawn from it: see Draft.
func (p *Picker) Pick(i int, logits []float32) gpu.Token {
	p.text = p.text[:p.known+i]
	for len(p.q) <= i {
		p.q = append(p.q, Dist{})
	}
	w := scratchPool.Get().(*scratch)
	defer scratchPool.Put(w)
	d := &p.q[i]
	best := p.s.fill(w, d, logits, p.index+i, p.text)
	if best == NoToken || p.ends(best) || p.least > 0 && p.confidence(d, logits, best) < p.least {
		return NoToken
	}
	d.without(p.ends)
	t := d.Draw(uniform(p.s.p.Seed, draftStream(p.index), p.index+i))
	p.text = append(p.text, t)
	return t
}

// confidence is the probability of the best token.
func (p *Picker) confidence(d *Dist, logits []float32, best gpu.Token) float64 {
	if p.s.p.Temperature > 0 {
		return d.Prob(best)
	}
	return probability(logits, best)
}

// Draft is what was picked since Begin, in the Picker's memory: it is valid until the next Begin.
func (p *Picker) Draft() Draft {
	n := len(p.text) - p.known
	return Draft{Tokens: p.text[p.known:], Q: p.q[:n]}
}
