package engine_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// faulty is a grammar with a bug: it panics at its third token.
type faulty struct{ taken int }

func (*faulty) Allows(gpu.Token) bool { return true }
func (*faulty) Mask([]float32)        {}
func (*faulty) Close()                {}
func (g *faulty) Accept(gpu.Token) {
	if g.taken++; g.taken == 3 {
		panic("a bug")
	}
}

// One row alone is sampled on the loop's goroutine, several are on others.
func TestAPanicInOneRequestsGrammarEndsThatOneAlone(t *testing.T) {
	for _, k := range []uint32{0, 4} {
		f := start(t, sim.Options{}, func(c *engine.Config) { c.Policies = &source{d: fixedK{k}} })
		for _, n := range []int{1, 3} {
			reqs := []engine.Request{{ID: "faulty", Prompt: prompt("abab"), MaxTokens: 20, IgnoreEOS: true, Grammar: &faulty{}}}
			for range n - 1 {
				reqs = append(reqs, engine.Request{ID: "good", Prompt: prompt("abab"), MaxTokens: 20, IgnoreEOS: true, Logprobs: true})
			}
			streams, err := f.SubmitAll(reqs)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range streams {
				got, r := outcome(t, s), s.Result()
				if i == 0 && (got != sched.OutcomeFailed || r.Err == nil || !strings.Contains(r.Err.Error(), "a bug")) {
					t.Errorf("k %d, %d at once: the faulty one ended as %v, %v", k, n, got, r.Err)
				}
				if i > 0 && got != sched.OutcomeLength {
					t.Errorf("k %d, %d at once: a good one ended as %v, %v", k, n, got, r.Err)
				}
			}
		}
		f.settled(t)
	}
}
