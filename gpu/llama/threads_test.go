package llama

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// twoThreads has a device compute with threads that last, or skips. Beside other tests each of its steps may take a second: the two
// wait for each other by spinning.
func twoThreads(t testing.TB) func(*Options) {
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU: no further threads")
	}
	return func(o *Options) { o.Threads = 2 }
}

// The compute threads end with their device: a server that opened many would drown in them.
func TestComputeThreadsEndWithTheDevice(t *testing.T) {
	two := twoThreads(t)
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skipf("read the process's threads: %v", err)
		}
		return len(tasks)
	}
	const devices = 6
	before := 0
	for i := range devices + 1 {
		if err := open(t, two).Close(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			before = threads()
		}
	}
	if grown := threads() - before; grown >= devices-2 {
		t.Errorf("%d threads more after %d devices were closed", grown, devices)
	}
}

// They go on after a step that was aborted between them, and serve the context that a reset makes.
func TestComputeThreadsOutliveAbortsAndResets(t *testing.T) {
	d := open(t, both(twoThreads(t), split, func(o *Options) { o.MaxSeqs, o.KVTokens, o.MaxBatchTokens = 2, 4096, 1600 }))
	prompt := encode(t, d, "The three colours of the flag are")
	_, want := alone(t, d, prompt, 0)
	check := func(when string) {
		t.Helper()
		if _, got := alone(t, d, prompt, 0); !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
			t.Errorf("%s: other logits than before", when)
		}
	}
	if err := abortWhile(d, &gpu.Batch{Items: []gpu.Item{{Seq: 1, Tokens: running(1, 1500)}}}); !errors.Is(err, gpu.ErrAborted) {
		t.Fatal(err)
	}
	check("after an abort")
	if err := d.Reset(); err != nil {
		t.Fatal(err)
	}
	check("after a reset")
}

// A drafter's context computes with its device's threads, before and after a reset, and is gone before they are.
func TestDraftersComputeWithTheDevicesThreads(t *testing.T) {
	two := twoThreads(t)
	_, published, _ := testPaths(t)
	for name, drafter := range map[string]func(t *testing.T) func(*Options){
		DrafterModel:  func(*testing.T) func(*Options) { return draftModel(published) },
		DrafterEAGLE3: func(t *testing.T) func(*Options) { return eagle(t) },
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, both(drafter(t), two))
			text := encode(t, d, "Once upon a time there")
			n := len(text) - 1
			feed(t, d, 0, 0, text[:n])
			_, want := guess(t, d, 0, text, 2)
			if err := d.Reset(); err != nil {
				t.Fatal(err)
			}
			feed(t, d, 0, 0, text[:n])
			if _, got := guess(t, d, 0, text, 2); len(got) != 2 || !sameRows(d, got, want) {
				t.Error("other drafts after a reset")
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Several devices may be opened, used and closed at once, the process's first ones too.
func TestHammerDevices(t *testing.T) {
	o := small(t, twoThreads(t))
	prompt := running(3, 12)
	rows := make([][]float32, 3)
	compute := func() ([]float32, error) {
		d, err := Open(o)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		if err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Tokens: prompt, Logits: 1}}}); err != nil {
			return nil, err
		}
		l, err := d.Logits(0, 0)
		return slices.Clone(l), err
	}
	var all sync.WaitGroup
	for i := range rows {
		all.Go(func() {
			var err error
			if rows[i], err = compute(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	want, err := compute()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range rows {
		same(t, l, want, "device "+strconv.Itoa(i))
	}
}
