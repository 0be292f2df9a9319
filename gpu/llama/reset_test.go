package llama

import (
	"errors"
	"slices"
	"testing"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// llama_decode answers below -1 when the graph could not be computed: nothing is known of the cache then.
func TestAFailedDecodeLosesTheDeviceUntilReset(t *testing.T) {
	d := open(t, split)
	prompt := encode(t, d, "The three colours of the flag are")
	_, want := alone(t, d, prompt, 0)
	forward(t, d, gpu.Item{Seq: 1, Tokens: prompt})
	saved, err := d.Save(1)
	if err != nil {
		t.Fatal(err)
	}
	d.decode = func(ctx capi.Context, b capi.Batch) (int32, error) {
		if rc, err := capi.Decode(ctx, b); rc != 0 || err != nil { // what was computed is there, and unknown to us
			t.Error(rc, err)
		}
		return -3, nil
	}
	step := &gpu.Batch{Items: []gpu.Item{{Seq: 0, Tokens: prompt, Logits: 1}}}
	if err := d.Forward(step); !errors.Is(err, gpu.ErrLost) {
		t.Fatalf("a failed step: %v", err)
	}
	d.decode = capi.Decode
	_, saveErr := d.Save(1)
	for name, err := range map[string]error{
		"Forward": d.Forward(step), "Trim": d.Trim(0, 0), "Copy": d.Copy(1, 2, 2), "Save": saveErr, "Restore": d.Restore(2, saved),
	} {
		if !errors.Is(err, gpu.ErrLost) {
			t.Errorf("%s after it: %v", name, err)
		}
	}
	if _, err := d.Logits(0, 0); err == nil {
		t.Error("there are logits of a step that failed")
	}
	if err := d.Reset(); err != nil {
		t.Fatal(err)
	}
	checkCells(t, d)
	forward(t, d, gpu.Item{Seq: 1, Tokens: prompt, Logits: 1})
	same(t, row(t, d, 0, 0), want[0], "after a reset")
	if err := d.Restore(0, saved); err != nil {
		t.Errorf("what was saved before: %v", err)
	}
}

// A step that is aborted leaves the device as it was, and one after a reset can be aborted too.
func TestResetKeepsAbort(t *testing.T) {
	d := open(t, func(o *Options) { o.KVTokens, o.MaxBatchTokens = 2048, 1024 })
	for range 3 {
		forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 4)})
		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
	}
	if err := abortWhile(d, &gpu.Batch{Items: []gpu.Item{{Seq: 0, Tokens: running(1, 1000)}}}); !errors.Is(err, gpu.ErrAborted) {
		t.Errorf("an aborted step after a reset: %v", err)
	}
	checkCells(t, d)
	forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 4), Logits: 1})
	if slices.Max(row(t, d, 0, 0)) == 0 {
		t.Error("no logits")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if d.Reset() == nil {
		t.Error("Reset after Close")
	}
}
