package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// gate holds the device's steps one by one, so that a test can do something while a certain one is computed.
type gate struct {
	came chan *gpu.Batch
	pass chan error
}

func newGate() *gate { return &gate{came: make(chan *gpu.Batch), pass: make(chan error)} }

// fault is a sim.Options.Fault.
func (g *gate) fault(_ uint64, b *gpu.Batch) error {
	g.came <- b
	return <-g.pass
}

// step lets one step through.
func (g *gate) step(t *testing.T) {
	t.Helper()
	g.wait(t)
	g.pass <- nil
}

// wait returns once the next step is on the device.
func (g *gate) wait(t *testing.T) *gpu.Batch {
	t.Helper()
	select {
	case b := <-g.came:
		return b
	case <-time.After(20 * time.Second): // only ever reached when no step comes
		t.Fatal("no step comes")
		return nil
	}
}

// open lets all further steps through until done is closed.
func (g *gate) open(done <-chan struct{}) {
	for {
		select {
		case <-g.came:
			g.pass <- nil
		case <-done:
			return
		}
	}
}

func (f *fixture) snapshot(t *testing.T) engine.Snapshot {
	t.Helper()
	snap, err := f.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// settled checks that nobody holds anything any more, and that each request that came has ended once.
func (f *fixture) settled(t *testing.T) engine.Snapshot {
	t.Helper()
	snap := f.snapshot(t)
	var ended uint64
	for _, n := range snap.Stats.Ended {
		ended += n
	}
	if s := snap.State; s.Running != 0 || s.WaitingRequests != 0 || s.BlocksFree != s.BlocksTotal || ended != snap.Stats.Arrived {
		t.Errorf("%d run, %d wait, %d of %d blocks are free, %d of %d have ended",
			s.Running, s.WaitingRequests, s.BlocksFree, s.BlocksTotal, ended, snap.Stats.Arrived)
	}
	return snap
}

func within(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second): // only ever reached by what never happens
		t.Fatal(what + " never happens")
	}
}

func outcome(t *testing.T, s *engine.Stream) sched.Outcome {
	t.Helper()
	within(t, s.Done(), "the end of a request")
	return s.Result().Outcome
}
