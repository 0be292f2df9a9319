package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/sched"
	"pgregory.net/rapid"
)

// reported is the text and the tokens with probabilities that a client gets of text, which comes in steps of so many tokens.
func reported(text string, stops []string, step func() int) (shown string, tokens []gpu.Token) {
	a := &active{
		req: Request{Logprobs: true, IgnoreEOS: true}, text: textStream{stops: stops},
		stream: &Stream{events: make(chan Event, len(text)+2), done: make(chan struct{})},
	}
	for rest, done := []byte(text), sched.OutcomeNone; len(rest) > 0 && done == sched.OutcomeNone; {
		n := min(step(), len(rest))
		s := sampled{rows: slices.Repeat([][]float32{make([]float32, sim.VocabSize)}, n)}
		from := len(a.history)
		for _, c := range rest[:n] {
			a.history = append(a.history, gpu.Token(c))
		}
		a.take(sim.Tokenizer{}, from, &s)
		a.add(&s)
		if rest, done = rest[n:], s.done; done == sched.OutcomeNone {
			a.send(false)
		}
	}
	a.end(Result{Finish: "stop"})
	for ev := range a.stream.events {
		shown += ev.Text
		for _, p := range ev.Probs {
			tokens = append(tokens, p.Token)
		}
	}
	return shown, tokens
}

// How many tokens a step gives, which differs with speculation, must not show: each byte is a token here, so those that are
// reported spell the text.
func TestTheTokensReportedDoNotDependOnTheSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abc é")), 1, 30, -1).Draw(t, "text")
		stops := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 1, 4, -1), 0, 2).Draw(t, "stops")
		shown, tokens := reported(text, stops, func() int { return rapid.IntRange(1, 4).Draw(t, "step") })
		var spelt strings.Builder
		for _, tok := range tokens {
			spelt.WriteByte(byte(tok))
		}
		if spelt.String() != shown {
			t.Fatalf("text %q, stops %q: %q is shown, and the tokens reported spell %q", text, stops, shown, spelt.String())
		}
	})
}
