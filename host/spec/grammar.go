package spec

import "github.com/sluice-dev/sluice/gpu"

// Constrain restricts all further tokens of s to what g allows; nil ends that. Sample asks g, and Verify also moves it on by
// each token that it emits. g stays the caller's to close. A Dist under a grammar is that of the tokens that are allowed: the mask
// comes before top-k, min-p and top-p.
//
// The best token is asked for alone first where nothing else may be drawn: most of the time it is allowed, and no mask is made.
func (s *Sampler) Constrain(g gpu.Grammar) { s.grammar = g }

// mask returns logits without the tokens that the grammar refuses, in w.logits.
func (s *Sampler) mask(w *scratch, logits []float32) []float32 {
	w.logits = append(w.logits[:0], logits...) // what adjust returned already lies there
	s.grammar.Mask(w.logits)
	return w.logits
}

// moveOn tells the grammar what was emitted.
func (s *Sampler) moveOn(t gpu.Token) {
	if s.grammar != nil {
		s.grammar.Accept(t)
	}
}
