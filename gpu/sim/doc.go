// Package sim is a GPU that is not there: what a step would cost (a roofline, or a table that was measured), and a
// gpu.Device whose "model" is a deterministic function of the tokens, for tests, demonstrations and replays.
//
// It is not a language model: its text is repeatable nonsense. It does not know the true length of an answer either.
//
//	p, err := sim.ParseProfile("llama-3.1-8b@h100")
//	ns := p.StepNS([]sim.Part{{Context: 1000, New: 1, Logits: 1}, {New: 512}})
//
//	dev := sim.Open(p, sim.Options{})        // a gpu.Device; computes at once
//	dev = sim.Open(p, sim.Options{Wall: 1})  // each step takes the time that p says
package sim
