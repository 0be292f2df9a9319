package main

import (
	"testing"

	sluice "github.com/sluice-dev/sluice/sdk/go"
	"github.com/sluice-dev/sluice/sdk/go/sluicetest"
)

// Three may wait and one does: of a burst of three the last is turned away.
func TestBurst(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "max_waiting", "3")
	arrival := sluice.Row{Phase: uint8(sluice.PhaseArrival)}
	got := p.Admit(&sluice.State{WaitingRequests: 1}, arrival, arrival, arrival)
	for i, want := range []sluice.Verdict{sluice.Abstain(), sluice.Abstain(), sluice.Reject(429, sluice.ReasonQueueFull)} {
		if got[i] != want {
			t.Errorf("request %d: %+v, not %+v", i, got[i], want)
		}
	}
}

// What already waits is left alone, however long the queue.
func TestWaitingIsLeftAlone(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "max_waiting", "3")
	got := p.Admit(&sluice.State{WaitingRequests: 100}, sluice.Row{Phase: uint8(sluice.PhaseQueued)})
	if got[0] != sluice.Abstain() {
		t.Errorf("%+v", got[0])
	}
}

func TestDoesNotAllocate(t *testing.T) {
	p := sluicetest.New(t, &policy{})
	if n := p.Allocs(&sluice.State{WaitingRequests: 100}, sluice.Row{}, sluice.Row{}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}
