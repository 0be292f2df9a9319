// Package spec turns logits into tokens: the sampler, the n-gram drafter, the choice of drafts from a model's logits, and the
// verification that keeps speculation exact. It reads no clock and holds no global randomness; the seed comes with the request.
//
// It is not a scheduler: how many tokens may be drafted is decided in host/sched. It does not run the model: logits come
// from a gpu.Device.
//
// A token is a pure function of (parameters, logits, output index, tokens so far). Draws come from a counter-based
// generator keyed by (seed, output index), so equal logits give the same text with and without speculation, in any batch,
// and after a preemption. Where drafts are drawn from a model's distribution, the text depends on them and its distribution does not.
//
//	s := spec.NewSampler(params, vocab)
//	var ng spec.NGram
//	draft := ng.Draft(history, k, 2, 4, buf[:0])
//	// one forward pass over the last known token and the draft gives len(draft)+1 rows of logits
//	emitted, err := spec.Verify(s, rows, spec.Draft{Tokens: draft}, index, &history)
//	text := history[len(history)-emitted:]
package spec
