package main

import (
	"testing"

	sluice "github.com/sluice-dev/sluice/sdk/go"
	"github.com/sluice-dev/sluice/sdk/go/sluicetest"
)

func TestRejectsOnceTooManyWait(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "max_waiting", "2")
	arriving := sluice.Row{Phase: uint8(sluice.PhaseArrival)}
	for waiting, want := range []sluice.Action{sluice.ActionAbstain, sluice.ActionAbstain, sluice.ActionReject} {
		v := p.Admit(&sluice.State{WaitingRequests: uint32(waiting)}, arriving)
		if got := sluice.Action(v[0].Action); got != want {
			t.Errorf("with %d waiting: %v, want %v", waiting, got, want)
		}
	}
}

func TestWhatWaitsIsLeftAlone(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "max_waiting", "1")
	v := p.Admit(&sluice.State{WaitingRequests: 9}, sluice.Row{Phase: uint8(sluice.PhaseQueued)})
	if v[0].Action != uint8(sluice.ActionAbstain) {
		t.Error("a waiting request was judged")
	}
}

func TestAllocatesNothing(t *testing.T) {
	p := sluicetest.New(t, &policy{})
	if n := p.Allocs(&sluice.State{WaitingRequests: 99}, sluice.Row{}, sluice.Row{}); n != 0 {
		t.Errorf("%v allocations in a round", n)
	}
}
