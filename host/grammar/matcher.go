package grammar

import (
	"math"

	"github.com/sluice-dev/sluice/gpu"
)

// Matcher follows one text through a grammar, token by token.
type Matcher struct {
	m *machine
	v *Vocab
}

// Matcher begins a text.
func (g *Grammar) Matcher(v *Vocab) *Matcher { return &Matcher{newMachine(g), v} }

// Allows implements gpu.Grammar. The model may end where the grammar does, and where it can go no further.
func (a *Matcher) Allows(t gpu.Token) bool {
	if t < 0 || int(t) >= a.v.size {
		return false
	}
	s := a.m.now
	if s.mask != nil || a.v.tok.IsEnd(t) {
		return a.allowed()[t>>6]&(1<<(t&63)) != 0
	}
	piece := a.v.tok.Piece(t)
	if len(piece) == 0 {
		return false
	}
	a.m.work = maxWork
	for _, b := range piece {
		if s = a.m.step(s, b); s.dead() {
			return false
		}
	}
	return true
}

func (s *state) dead() bool { return len(s.readings) == 0 && !s.accepting }

// Mask implements gpu.Grammar.
func (a *Matcher) Mask(logits []float32) {
	mask := a.allowed()
	inf := float32(math.Inf(-1))
	for t := range logits {
		if t>>6 >= len(mask) || mask[t>>6]&(1<<(t&63)) == 0 {
			logits[t] = inf
		}
	}
}

// Accept implements gpu.Grammar.
func (a *Matcher) Accept(t gpu.Token) {
	a.m.work = maxWork
	for _, b := range a.v.tok.Piece(t) {
		a.m.now = a.m.step(a.m.now, b)
	}
	a.m.tidy()
}

// Close implements gpu.Grammar. There is nothing to free.
func (a *Matcher) Close() {}

// allowed is the set of tokens that may come next, which is remembered.
func (a *Matcher) allowed() []uint64 {
	s := a.m.now
	if s.mask != nil {
		return s.mask
	}
	s.mask = make([]uint64, (a.v.size+63)/64)
	a.m.masks++
	a.m.work = maxWork
	found := a.walk(0, s, s.mask)
	if s.accepting || !found {
		for _, t := range a.v.ends {
			s.mask[t>>6] |= 1 << (t & 63)
		}
	}
	return s.mask
}

// walk marks the tokens below a node of the vocabulary that s can take.
func (a *Matcher) walk(at int32, s *state, mask []uint64) (found bool) {
	for i := a.v.nodes[at].child; i > 0; i = a.v.nodes[i].sibling {
		n := &a.v.nodes[i]
		to := a.m.step(s, n.b)
		if to.dead() {
			continue
		}
		for _, t := range a.v.order[n.from:n.to] {
			mask[t>>6] |= 1 << (t & 63)
			found = true
		}
		if n.child > 0 && a.walk(i, to, mask) {
			found = true
		}
	}
	return found
}

var _ gpu.Grammar = (*Matcher)(nil)
