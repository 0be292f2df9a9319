package spec

import (
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/gpu"
)

// ErrNoToken says that a row of logits has nothing to draw from: all NaN or -Inf.
var ErrNoToken = errors.New("the device computed no usable logits")

// Draft is what a drafter guesses for one step. Q[i] is what Tokens[i] was drawn from, as Picker draws it; with Q nil, or one token
// certain in Q[i], the guess is a point mass.
//
// Tokens drawn from Q may be cut short by their number, but never because of what they are: a draft that is dropped for its value
// leaves the others more likely than Q says, and the text is biased. What must not be drafted belongs out of Q.
type Draft struct {
	Tokens []gpu.Token
	Q      []Dist
}

// drawn is what the i-th draft was drawn from, nil for a point mass.
func (d *Draft) drawn(i int) *Dist {
	if d.Q == nil || d.Q[i].certain() {
		return nil
	}
	return &d.Q[i]
}

// Verify draws the tokens that one forward pass allows and appends them to history. rows(0) is the logits row of the last
// known token, rows(i) that of draft.Tokens[i-1]; index is the output index of the first token drawn. The tokens have the
// distribution of Sample, whatever the drafts are.
//
// A point mass is accepted exactly when the token drawn from the model's own distribution equals it, and the drawn token is
// emitted either way. A fresh draw after a mismatch would bias the text. A draft x that was drawn from q is accepted with
// probability min(1, p(x)/q(x)), where p is the model's own; in place of the first one that is not, a token is drawn from
// norm(max(0, p - q)) (Leviathan et al. 2022, "Fast inference from transformers via speculative decoding", section 2.3). After
// the last accepted draft its row gives one more token. p at a draft counts the drafts before it as history, for the penalties.
//
// emitted is 1 + the number of accepted drafts, or with an error, the tokens drawn before it. Stop conditions are the
// caller's: what follows an end token in the emitted tokens is to be dropped. Under a grammar drafts hold no end tokens.
func Verify(s *Sampler, rows func(i int) ([]float32, error), draft Draft, index int, history *[]gpu.Token) (emitted int, err error) {
	for i := 0; ; i++ {
		row, err := rows(i)
		if err != nil {
			return emitted, fmt.Errorf("read logits row %d: %w", i, err)
		}
		t, accepted := s.judge(row, &draft, i, index+i, *history)
		if t == NoToken {
			return emitted, fmt.Errorf("sample row %d: %w", i, ErrNoToken)
		}
		*history = append(*history, t)
		emitted++
		s.moveOn(t)
		if !accepted {
			return emitted, nil
		}
	}
}

// judge draws the token at index, and reports whether it is the i-th draft.
func (s *Sampler) judge(row []float32, draft *Draft, i, index int, history []gpu.Token) (t gpu.Token, accepted bool) {
	if i == len(draft.Tokens) {
		return s.Sample(row, index, history), false
	}
	x := draft.Tokens[i]
	q := draft.drawn(i)
	if q == nil {
		t = s.Sample(row, index, history)
		return t, t == x
	}
	w := scratchPool.Get().(*scratch)
	defer scratchPool.Put(w)
	p := &w.dist
	if s.fill(w, p, row, index, history) == NoToken {
		return NoToken, false
	}
	if uniform(s.p.Seed, streamAccept, index)*q.Prob(x) < p.Prob(x) {
		return x, true
	}
	return w.residual(p, q, uniform(s.p.Seed, streamResidual, index)), false
}

// residual draws from norm(max(0, p - q)).
func (w *scratch) residual(p, q *Dist, u float64) gpu.Token {
	if n := int(max(p.most(), q.most())) + 1; len(w.q) < n {
		w.q = make([]float64, n)
	}
	for t, x := range q.All() {
		w.q[t] = x / q.total
	}
	defer func() {
		for t := range q.All() {
			w.q[t] = 0
		}
	}()
	total := 0.0
	for t, x := range p.All() {
		total += max(0, x/p.total-w.q[t])
	}
	target, acc := u*total, 0.0
	for t, x := range p.All() {
		if acc += max(0, x/p.total-w.q[t]); acc > target {
			return t
		}
	}
	return p.Draw(u) // p = q to within rounding, where rejection has no probability
}
