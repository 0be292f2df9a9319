package llama

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
)

func TestAbortStopsARunningForwardAndNoLaterOne(t *testing.T) {
	d := open(t, func(o *Options) { o.KVTokens, o.MaxBatchTokens, o.KVLayout, o.MaxSeqs = 4096, 1600, LayoutSplit, 2 })
	prompt := encode(t, d, "The three colours of the flag are")
	_, want := alone(t, d, prompt, 0)

	d.Abort() // nothing runs: it must not reach the next one
	forward(t, d, gpu.Item{Seq: 0, Tokens: prompt[:2]})

	long := make([]gpu.Token, 1500) // three parts inside the library: the first ones may be done when it stops
	for i := range long {
		long[i] = gpu.Token(2000 + i)
	}
	err := abortWhile(d, &gpu.Batch{Items: []gpu.Item{{Seq: 1, Tokens: long, Logits: 1}, {Seq: 0, Pos: 2, Tokens: prompt[2:3]}}})
	if !errors.Is(err, gpu.ErrAborted) {
		t.Fatalf("an aborted batch: %v", err)
	}
	if _, err := d.Logits(0, 0); err == nil {
		t.Error("there are logits of an aborted batch")
	}
	// Both sequences hold what they held, and compute as if nothing had been.
	forward(t, d, gpu.Item{Seq: 0, Pos: 2, Tokens: prompt[2:], Logits: 1}, gpu.Item{Seq: 1, Tokens: prompt, Logits: 1})
	for item := range 2 {
		if !slices.Equal(row(t, d, item, 0), want[0]) {
			t.Errorf("item %d computes something else after an abort", item)
		}
	}
}

// abortWhile computes b and aborts it once it runs.
func abortWhile(d *Device, b *gpu.Batch) error {
	done := make(chan error, 1)
	go func() { done <- d.Forward(b) }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(time.Millisecond):
			d.Abort()
		}
	}
}
