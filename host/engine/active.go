package engine

import (
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/host/trace"
)

// active is a request that has not ended. Only the loop's goroutine touches it once it is submitted.
type active struct {
	req     Request
	sched   sched.Request
	stream  *Stream
	history []gpu.Token // prompt and output
	sampler *spec.Sampler
	ngram   spec.NGram
	picker  *spec.Picker
	pick    func(i int, logits []float32) gpu.Token // the picker's
	drafted []gpu.Token                             // memory of its drafts
	verify  []gpu.Token                             // the known tokens of its row with the drafts behind them
	root    uint64                                  // what the names of its blocks start from
	hashes  []uint64                                // of the full blocks of history; nil = never shared
	text    textStream
	unsent  Event // what is known and not sent: no text yet that may be shown, or none at all
	probAt  []int // by unsent.Probs: where the token's bytes begin in the text
	gaps    []trace.Gap
	last    int64 // time of the last emission
	err     error // the first thing that went wrong
}

// maxGaps bounds the rhythm that a record keeps. A longer answer's record has none rather than part of it.
const maxGaps = 4096

// take gives the request the tokens drawn in a step, history[from:]: how many count, how they end it if they do, and their
// text. Tokens after the end of the text are dropped.
func (a *active) take(tok gpu.Tokenizer, from int, s *sampled) {
	for i := from; i < len(a.history) && s.done == sched.OutcomeNone; i++ {
		t := a.history[i]
		s.emitted++
		if tok.IsEnd(t) && !a.req.IgnoreEOS {
			s.done = sched.OutcomeCompleted
			break
		}
		if a.req.Logprobs {
			a.addProbs(tok, t, s.rows[i-from])
		}
		piece, stopped := a.text.push(tok.Piece(t))
		s.text += piece
		if stopped {
			s.done = sched.OutcomeCompleted
			a.dropProbs()
		}
	}
	a.history = a.history[:from+s.emitted]
}

// fail notes why the request will end. What ends it comes first: a step that is aborted for a drain says nothing more.
func (a *active) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *active) gap(now int64, tokens int) {
	if len(a.gaps) == maxGaps || a.sched.Emissions > len(a.gaps)+1 {
		a.gaps = a.gaps[:0]
		return
	}
	g := trace.Gap{Tokens: tokens}
	if a.last > 0 {
		g.NS = now - a.last
	}
	a.gaps = append(a.gaps, g)
}

// add takes in what a step emitted.
func (a *active) add(s *sampled) {
	a.unsent.Text += s.text
	a.unsent.Tokens += s.emitted
}

// send delivers what may be shown, and reports whether the reader keeps up.
func (a *active) send(last bool) bool {
	if a.unsent.Text == "" && (!last || a.unsent.Tokens == 0 && len(a.unsent.Probs) == 0) {
		return true
	}
	// Only this goroutine sends, so what is free stays free. The last place is kept for the end of the text.
	if !last && len(a.stream.events) >= cap(a.stream.events)-1 {
		return false
	}
	var later []TokenProbs
	if !last {
		later = a.holdProbs()
	}
	a.unsent.Last = last
	a.stream.events <- a.unsent
	a.unsent = Event{Probs: later}
	return true
}

// end closes the stream. Text that was held back for a stop string that never came goes out first.
func (a *active) end(res Result) {
	if res.Finish != "" {
		a.unsent.Text += a.text.flush()
		a.send(true)
	}
	if a.req.Grammar != nil {
		a.req.Grammar.Close()
	}
	a.stream.result = res
	close(a.stream.events)
	close(a.stream.done)
}

// release lets go of all but the part that the scheduler may still point to from its own memory.
func (a *active) release() { *a = active{sched: a.sched} }
