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
	text    textStream
	unsent  int // tokens whose text is still held back
	gaps    []trace.Gap
	last    int64 // time of the last emission
	err     error // the first thing that went wrong
}

// maxGaps bounds the rhythm that a record keeps. A longer answer's record has none rather than part of it.
const maxGaps = 4096

// take gives the request the tokens drawn in a step, history[from:], and returns how many count and how it ended, if it
// did. Tokens after the end of the text are dropped.
func (a *active) take(tok gpu.Tokenizer, from int) (emitted int, done sched.Outcome, text string) {
	for i := from; i < len(a.history); i++ {
		t := a.history[i]
		emitted++
		if tok.IsEnd(t) && !a.req.IgnoreEOS {
			done = sched.OutcomeCompleted
			break
		}
		piece, stopped := a.text.push(tok.Piece(t))
		text += piece
		if stopped {
			done = sched.OutcomeCompleted
			break
		}
	}
	a.history = a.history[:from+emitted]
	return emitted, done, text
}

// fail notes why the request will end. What ends it comes first: a step that is aborted for a drain says nothing more.
func (a *active) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *active) gap(now int64, tokens int) {
	if len(a.gaps) == maxGaps || a.sched.Emissions > len(a.gaps) {
		a.gaps = a.gaps[:0]
		return
	}
	g := trace.Gap{Tokens: tokens}
	if a.last > 0 {
		g.NS = now - a.last
	}
	a.gaps = append(a.gaps, g)
}

// send delivers text with the tokens behind it, and reports whether the reader keeps up.
func (a *active) send(text string, tokens int) bool {
	a.unsent += tokens
	if text == "" {
		return true
	}
	// Only this goroutine sends, so what is free stays free. The last place is kept for the end of the text.
	if len(a.stream.events) >= cap(a.stream.events)-1 {
		return false
	}
	a.stream.events <- Event{Text: text, Tokens: a.unsent}
	a.unsent = 0
	return true
}

// end closes the stream. Text that was held back for a stop string that never came goes out first.
func (a *active) end(res Result) {
	if res.Finish != "" {
		if rest := a.text.flush(); rest != "" || a.unsent > 0 {
			a.stream.events <- Event{Text: rest, Tokens: a.unsent}
		}
	}
	a.stream.result = res
	close(a.stream.events)
	close(a.stream.done)
}
