package llama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
)

const unguardedEnv = "SLUICE_TEST_UNGUARDED"

// TestUnguardedCallInThisProcess is what the children of TestGuardsAreNeeded run.
func TestUnguardedCallInThisProcess(t *testing.T) {
	names := os.Getenv(unguardedEnv)
	if names == "" {
		t.Skip("a part of TestGuardsAreNeeded")
	}
	for name := range strings.SplitSeq(names, "|") {
		i := slices.IndexFunc(bareCalls, func(u bareCall) bool { return u.name == name })
		c, err := OpenContext(guardOptions(t, bareCalls[i].layout))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("returned|%s|%s\n", name, bareCalls[i].harm(c))
		c.Close()
	}
}

func guardOptions(t testing.TB, layout string) Options {
	return small(t, func(o *Options) {
		o.KVTokens, o.MaxBatchTokens = 256, 72
		if layout != "" {
			o.KVLayout = layout
		}
	})
}

// runUnguarded gives what the child printed of each call that returned, and whether it lived.
func runUnguarded(t *testing.T, names ...string) (returned map[string]string, lived bool, output string) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestUnguardedCallInThisProcess$", "-test.count=1")
	cmd.Env = append(os.Environ(), unguardedEnv+"="+strings.Join(names, "|"), "GGML_NO_BACKTRACE=1", "GOTRACEBACK=none")
	out, err := cmd.CombinedOutput()
	returned = map[string]string{}
	for line := range strings.SplitSeq(string(out), "\n") {
		if f := strings.SplitN(line, "|", 3); len(f) == 3 && f[0] == "returned" {
			returned[f[1]] = f[2]
		}
	}
	return returned, err == nil, string(out)
}

// Without its guard each of these calls ends the process, or is answered as if nothing were wrong.
func TestGuardsAreNeeded(t *testing.T) {
	testPaths(t)
	var quiet []string
	for _, u := range bareCalls {
		if u.wrong {
			quiet = append(quiet, u.name)
			continue
		}
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			returned, lived, out := runUnguarded(t, u.name)
			if got := returned[u.name]; lived && (got == "" || !u.race) {
				t.Errorf("the process lives: %q\n%s", got, out)
			}
		})
	}
	t.Run("those that are answered", func(t *testing.T) {
		t.Parallel()
		returned, lived, out := runUnguarded(t, quiet...)
		for _, name := range quiet {
			if returned[name] == "" || !lived {
				t.Errorf("%s: %q\n%s", name, returned[name], out)
			}
			t.Log(name, ": ", returned[name])
		}
	})
}

func TestGuardsAnswerWithAnError(t *testing.T) {
	for _, u := range bareCalls {
		t.Run(u.name, func(t *testing.T) {
			d, err := Open(guardOptions(t, u.layout))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if u.name != "logits before the first step" {
				forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 6)})
			}
			if err := u.guarded(d); err == nil {
				t.Error("it is accepted")
			}
			if d.closed {
				return
			}
			forward(t, d, gpu.Item{Seq: 0, Pos: d.kv.length(0), Tokens: running(1, 1), Logits: 1}) // it goes on
			if l := row(t, d, 0, 0); math.IsNaN(float64(l[0])) {
				t.Error("no logits")
			}
		})
	}
}

// What takes llama.cpp minutes, or for ever, is not tried without its guard: threads that spin at a barrier for the CPUs of
// others, a cache of a billion cells, and a damaged size in a saved sequence.
func TestWhatWouldStallIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"threads beyond the CPUs": func(o *Options) { o.Threads = 64 * runtime.NumCPU() },
		"a billion cells":         func(o *Options) { o.KVTokens = 1 << 30 },
	} {
		o := guardOptions(t, "")
		change(&o)
		if _, err := Open(o); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := open(t, nil)
	forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 6)})
	s, err := d.Save(0)
	if err != nil {
		t.Fatal(err)
	}
	for at := range 64 { // the sizes stand at the beginning
		bad := &gpu.Saved{Tokens: s.Tokens, Data: slices.Clone(s.Data)}
		bad.Data[at] ^= 0x80
		if d.Restore(1, bad) == nil {
			t.Errorf("byte %d: it is restored", at)
		}
	}
}

// A library without a part for NVIDIA, or a machine without a driver, must not serve on the CPU when a GPU was asked for.
func TestAMissingDeviceIsNamedWithWhatThereIs(t *testing.T) {
	for _, want := range []string{"cuda", "CUDA0", "Vulkan0", "gpu"} {
		o := small(t, func(o *Options) { o.Device = want })
		_, err := Open(o)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cpu (") {
			t.Errorf("%s: %v", want, err)
		}
		if strings.HasPrefix(strings.ToLower(want), "cuda") && !strings.Contains(err.Error(), filepath.Base(o.LibDir)) {
			t.Errorf("%s: the folder without CUDA is not named: %v", want, err)
		}
	}
}
