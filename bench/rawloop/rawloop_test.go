package rawloop

import (
	"os"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
)

func options(t *testing.T) llama.Options {
	libs, _, model, err := llama.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{libs, model} {
		if _, err := os.Stat(p); err != nil {
			if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
				t.Fatalf("%v: run make setup", err)
			}
			t.Skipf("%v: run make setup to test on the real model", err)
		}
	}
	return llama.Options{LibDir: libs, ModelPath: model, Device: llama.DeviceCPU, Threads: 1, KVTokens: 1024, MaxSeqs: 4, MaxBatchTokens: 64, KVLayout: llama.LayoutSplit}
}

// The peer must do the work that it is compared for: the same tokens as the device gives, whatever the number of streams.
func TestLoopGeneratesWhatTheDeviceDoes(t *testing.T) {
	o := options(t)
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var last Result
	for _, streams := range []int{1, 3} {
		if last, err = l.Decode(streams, 16, 6); err != nil {
			t.Fatal(err)
		}
		if last.Tokens != streams*6 || last.Steps != 6 || len(last.Output) != streams || last.Library <= 0 || last.Library > last.Elapsed {
			t.Errorf("%+v", last)
		}
	}
	d, err := llama.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for s := range 3 {
		if want := greedy(t, d, l.Prompt(s, 16), 6); !slices.Equal(last.Output[s], want) {
			t.Errorf("stream %d: %v, the device gives %v", s, last.Output[s], want)
		}
	}
}

func greedy(t *testing.T, d *llama.Device, prompt []gpu.Token, n int) (out []gpu.Token) {
	t.Helper()
	defer d.Trim(0, 0)
	next, pos := prompt, 0
	for len(out) < n {
		if err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Pos: pos, Tokens: next, Logits: 1}}}); err != nil {
			t.Fatal(err)
		}
		l, err := d.Logits(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		pos += len(next)
		best := slices.Index(l, slices.Max(l))
		next = []gpu.Token{gpu.Token(best)}
		out = append(out, next[0])
	}
	return out
}

func TestPrefillAndLimits(t *testing.T) {
	l, err := Open(options(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Prefill(150)
	if err != nil || r.Tokens != 150 || r.Steps != 3 {
		t.Errorf("%+v %v", r, err)
	}
	for _, bad := range [][3]int{{0, 16, 4}, {5, 16, 4}, {1, 65, 4}, {1, 16, 0}, {1, 16, 250}} {
		if _, err := l.Decode(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("Decode%v is accepted", bad)
		}
	}
	if _, err := l.Prefill(300); err == nil {
		t.Error("a prompt beyond the context is accepted")
	}
}
