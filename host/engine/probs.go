package engine

import (
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/spec"
)

// addProbs notes how probable t was, by the logits as the model gave them.
func (a *active) addProbs(tok gpu.Tokenizer, t gpu.Token, logits []float32) {
	own, top := spec.LogProbs(logits, t, a.req.TopLogprobs, nil)
	p := TokenProbs{Logprob: logprob(tok, t, own)}
	for _, alt := range top {
		p.Top = append(p.Top, logprob(tok, alt.Token, alt.Log))
	}
	a.unsent.Probs = append(a.unsent.Probs, p)
	a.probAt = append(a.probAt, a.text.pushed)
}

func logprob(tok gpu.Tokenizer, t gpu.Token, log float64) Logprob {
	return Logprob{Token: t, Piece: tok.Piece(t), Log: log}
}

// holdProbs takes the tokens out of unsent that begin in text that is held back: they may become part of a stop string.
func (a *active) holdProbs() (later []TokenProbs) {
	shown := a.text.pushed - len(a.text.held)
	n := len(a.probAt)
	for n > 0 && a.probAt[n-1] >= shown {
		n--
	}
	if n < len(a.probAt) {
		later = append(later, a.unsent.Probs[n:]...)
	}
	a.probAt, a.unsent.Probs = append(a.probAt[:0], a.probAt[n:]...), a.unsent.Probs[:n]
	return later
}

// dropProbs forgets the tokens of a stop string, which nobody sees.
func (a *active) dropProbs() {
	n := len(a.probAt)
	for n > 0 && a.probAt[n-1] >= a.text.end {
		n--
	}
	a.probAt, a.unsent.Probs = a.probAt[:n], a.unsent.Probs[:n]
}
