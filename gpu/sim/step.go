package sim

// Part is one sequence's share of a step.
type Part struct {
	Context int // tokens whose KV is already there
	New     int // tokens computed in this step, drafts included
	Logits  int // of them, those whose logits are needed
}

// Cost is the time that a step takes on a device. StepNS is pure and may be called from any goroutine.
type Cost interface {
	// StepNS returns the time of one step over parts in ns, from the call to the next step's start; 0 for an empty step.
	StepNS(parts []Part) int64
}

// load is what a step's parts add up to, in exact integers, so that their order does not matter.
type load struct {
	seqs, tokens, logits int64
	pairs                int64 // query-key pairs of the attention
	context              int64 // KV tokens read, each once a sequence
}

func loadOf(parts []Part) load {
	var l load
	for _, p := range parts {
		n, c := int64(p.New), int64(p.Context)
		if n <= 0 {
			continue
		}
		l.seqs++
		l.tokens += n
		l.logits += int64(p.Logits)
		l.pairs += n*c + n*(n+1)/2
		l.context += c + n
	}
	return l
}
