package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// Who was told that limits could not be changed must not find them changed later on.
func TestLimitsForWhichNobodyWaitsAnyMoreAreNotPutInForce(t *testing.T) {
	h := hanging{make(chan struct{})}
	var limits sched.Config
	f := start(t, sim.Options{}, func(c *engine.Config) {
		c.Policies = &source{d: h}
		limits = c.Sched
	})
	limits.MaxWaitingTokens = 1 // no request would be taken
	hung := f.submit(t, engine.Request{ID: "a", Prompt: prompt("hello"), MaxTokens: 2, IgnoreEOS: true})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.SetSched(ctx, limits); !errors.Is(err, context.Canceled) {
		t.Errorf("while the loop hangs: %v", err)
	}
	close(h.c)
	read(hung)
	if got := outcome(t, f.submit(t, engine.Request{ID: "b", Prompt: prompt("hello"), MaxTokens: 2, IgnoreEOS: true})); got != sched.OutcomeLength {
		t.Errorf("a request afterwards ended as %v", got)
	}
}
