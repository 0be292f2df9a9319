package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// A request that Submit took must end and be recorded, even when the engine is closed at that very moment.
func TestEveryStreamEndsWhenTheEngineIsClosedMeanwhile(t *testing.T) {
	for range 40 {
		f := start(t, sim.Options{}, nil)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var taken []*engine.Stream
		for range 4 {
			wg.Go(func() {
				for {
					s, err := f.Submit(engine.Request{ID: "r", Prompt: prompt("x"), MaxTokens: 2})
					if err != nil {
						return
					}
					mu.Lock()
					taken = append(taken, s)
					mu.Unlock()
				}
			})
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		for _, s := range taken {
			select {
			case <-s.Done():
			case <-time.After(10 * time.Second): // only ever reached by a stream that never ends
				t.Fatal("a stream never ends")
			}
		}
		if len(f.records) != len(taken) {
			t.Fatalf("%d records of %d requests", len(f.records), len(taken))
		}
	}
}

func TestAllThatWaitForADrainHearOfItsEnd(t *testing.T) {
	f := start(t, sim.Options{Wall: 0.2}, nil)
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("abc"), MaxTokens: 40, IgnoreEOS: true})
	<-s.Events()
	done := make(chan struct{})
	for range 3 {
		go func() { f.Drain(context.Background()); done <- struct{}{} }()
	}
	for range 3 {
		select {
		case <-done:
		case <-time.After(20 * time.Second): // only ever reached by a drain that never returns
			t.Fatal("a drain never returns")
		}
	}
}

func TestWhatTheDrainLimitEndsSaysSo(t *testing.T) {
	f := start(t, sim.Options{Wall: 50}, nil)
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("abc"), MaxTokens: 400, IgnoreEOS: true})
	for {
		snap, err := f.Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if snap.State.Running == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f.Drain(ctx)
	<-s.Done()
	if r := s.Result(); r.Outcome != sched.OutcomeDrained || !errors.Is(r.Err, engine.ErrDraining) {
		t.Errorf("ended as %v: %v", r.Outcome, r.Err)
	}
}
