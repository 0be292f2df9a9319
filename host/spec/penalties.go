package spec

import (
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// count is how often a token occurs in the tokens so far.
type count struct {
	all    int32 // in prompt and output
	output int32
}

// repetition is the repetition penalty with its default resolved.
func (s *Sampler) repetition() float64 {
	if s.p.RepetitionPenalty == 0 {
		return 1
	}
	return s.p.RepetitionPenalty
}

// adjust returns the row after logit bias and penalties, in w.logits.
//
//   - Bias: added to the logit (OpenAI API reference, logit_bias). It comes before the penalties, as in vLLM and llama.cpp.
//   - Repetition, over the tokens of prompt and output: a positive logit is divided by the penalty, a negative one
//     multiplied (Keskar et al. 2019, "CTRL", section 4.1, with the sign rule of Hugging Face's
//     RepetitionPenaltyLogitsProcessor, vLLM and llama.cpp).
//   - Frequency and presence, over the tokens of the output: l -= count*frequency + (count > 0)*presence (OpenAI API
//     guide on frequency and presence penalties; over the output alone, as in vLLM).
func (s *Sampler) adjust(w *scratch, logits []float32, index int, history []gpu.Token) []float32 {
	w.logits = append(w.logits[:0], logits...)
	for _, b := range s.bias {
		if int(b.token) < len(w.logits) {
			w.logits[b.token] = float32(float64(w.logits[b.token]) + b.add)
		}
	}
	if !s.penalties {
		return w.logits
	}
	s.count(w, len(logits), index, history)
	rep := s.repetition()
	for _, t := range w.seen {
		l, c := float64(w.logits[t]), w.counts[t]
		w.counts[t] = count{}
		if l > 0 {
			l /= rep
		} else {
			l *= rep
		}
		if c.output > 0 {
			l -= float64(c.output)*s.p.FrequencyPenalty + s.p.PresencePenalty
		}
		w.logits[t] = float32(l)
	}
	return w.logits
}

// count fills w.counts and lists the tokens that occur in w.seen. It counts anew at each token: a cache of the counts
// would make Sample depend on its own past, for a few microseconds in a step of milliseconds.
func (s *Sampler) count(w *scratch, vocab, index int, history []gpu.Token) {
	if len(w.counts) < vocab {
		w.counts = slices.Grow(w.counts[:0], vocab)[:vocab]
		clear(w.counts)
	}
	w.seen = w.seen[:0]
	output := max(len(history)-index, 0)
	for i, t := range history {
		if t < 0 || int(t) >= vocab {
			continue
		}
		c := &w.counts[t]
		if c.all == 0 {
			w.seen = append(w.seen, t)
		}
		c.all++
		if i >= output {
			c.output++
		}
	}
}
