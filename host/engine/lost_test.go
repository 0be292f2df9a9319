package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// lostDevice does nothing at all once a step has lost it, until it is reset, as gpu/llama does.
type lostDevice struct {
	*resettable
	lost   atomic.Bool
	trims  atomic.Int32 // that were refused
	trials atomic.Int32 // resets that were refused
}

func (d *lostDevice) Forward(b *gpu.Batch) error {
	if d.lost.Load() {
		return gpu.ErrLost
	}
	err := d.resettable.Forward(b)
	if errors.Is(err, gpu.ErrLost) {
		d.lost.Store(true)
	}
	return err
}

func (d *lostDevice) Trim(seq, n int) error {
	if d.lost.Load() {
		d.trims.Add(1)
		return gpu.ErrLost
	}
	return d.resettable.Trim(seq, n)
}

func (d *lostDevice) Reset() error {
	if d.refuse.Load() {
		d.trials.Add(1)
		return errors.New("not yet")
	}
	d.lost.Store(false)
	return d.resettable.Reset()
}

func lose(t *testing.T, wrap func(*lostDevice) gpu.Device) (*fixture, *lostDevice) {
	t.Helper()
	p := &plan{}
	var dev *lostDevice
	f := start(t, sim.Options{Fault: p.fault}, func(c *engine.Config) {
		dev = &lostDevice{resettable: &resettable{Device: c.Device.(*sim.Device)}}
		dev.refuse.Store(true)
		c.Device = wrap(dev)
	})
	p.next(nil, fmt.Errorf("compute: %w", gpu.ErrLost))
	if got := f.all(t, 1, 4); got[sched.OutcomeFailed] != 1 {
		t.Fatalf("ended as %v", got)
	}
	return f, dev
}

// A device that is lost computes nothing and empties no sequence. What comes before it is started anew waits for that.
func TestWhatComesWhileADeviceIsLostWaitsForItsNextStart(t *testing.T) {
	t.Parallel() // the next start is tried after seconds
	f, dev := lose(t, func(d *lostDevice) gpu.Device { return d })
	for dev.trials.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	waiting := f.submit(t, engine.Request{ID: "waiting", Prompt: prompt("hello"), MaxTokens: 4, IgnoreEOS: true, TTL: int64(50 * time.Millisecond)})
	late := f.submit(t, engine.Request{ID: "late", Prompt: prompt("hello"), MaxTokens: 4, Deadline: int64(100 * time.Millisecond)})
	if got := outcome(t, late); got != sched.OutcomeExpired {
		t.Errorf("a deadline passed, and it ended as %v", got)
	}
	if err := f.Ready(); !errors.Is(err, gpu.ErrLost) || dev.trims.Load() != 0 {
		t.Errorf("ready: %v; the lost device was asked %d times for something", err, dev.trims.Load())
	}
	dev.refuse.Store(false)
	if got := outcome(t, waiting); got != sched.OutcomeLength || f.Ready() != nil {
		t.Errorf("what waited ended as %v, ready: %v", got, f.Ready())
	}
}

// Nothing is gained by waiting for a device that cannot be started anew; that it holds nothing is no sign of health.
func TestALostDeviceThatCannotBeStartedAnewIsNeverReady(t *testing.T) {
	type only struct{ gpu.Device }
	f, _ := lose(t, func(d *lostDevice) gpu.Device { return only{d} })
	for range 3 {
		if got := f.all(t, 1, 4); got[sched.OutcomeLength] != 0 {
			t.Errorf("ended as %v", got)
		}
		if err := f.Ready(); !errors.Is(err, gpu.ErrLost) {
			t.Errorf("ready: %v", err)
		}
	}
}

// A shutdown ends what waits for a device that does not come back.
func TestADrainEndsWhatWaitsForALostDevice(t *testing.T) {
	f, _ := lose(t, func(d *lostDevice) gpu.Device { return d })
	waiting := f.submit(t, engine.Request{ID: "waiting", Prompt: prompt("hello"), MaxTokens: 4})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	f.Drain(ctx)
	if got := outcome(t, waiting); got != sched.OutcomeDrained {
		t.Errorf("ended as %v", got)
	}
}
