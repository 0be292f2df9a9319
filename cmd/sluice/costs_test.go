package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/gpu/measure"
)

// defaultModel gives what set-up fetched, or skips. The cache that step times go to is another one, and empty.
func defaultModel(t *testing.T) (libs, published, fast string) {
	t.Helper()
	libs, published, fast, err := llama.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	if !exists(libs) || !exists(published) || !exists(fast) {
		if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
			t.Fatal("no model: run make setup")
		}
		t.Skip("no model: run make setup to test on the real one")
	}
	t.Setenv("SLUICE_CACHE", t.TempDir())
	return libs, published, fast
}

func TestStepTimesAreMeasuredOnceAndKept(t *testing.T) {
	libs, _, fast := defaultModel(t)
	dev, err := llama.Open(llama.Options{LibDir: libs, ModelPath: fast, Device: llama.DeviceCPU, Threads: 1, MaxSeqs: 2, KVTokens: 512, MaxBatchTokens: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	cfg := config.Default()
	var log bytes.Buffer
	p := &parts{cfg: &cfg, log: slog.New(slog.NewTextHandler(&log, nil))}
	get := func(mode, want string) measure.Report {
		t.Helper()
		cfg.Compute.Measure = mode
		r, source, err := p.stepTimes(t.Context(), dev, measure.Options{Limit: 100 * time.Millisecond})
		if r.Disturbed() {
			t.Skip("the machine is busy: what is measured is not kept")
		}
		if err != nil || source != want {
			t.Errorf("%s: %s, %+v, %v", mode, source, r.Costs, err)
		}
		return r
	}
	store, err := costStore()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(dev.Setup()); err == nil {
		t.Fatal("the cache is not empty")
	}
	first := get(config.MeasureAuto, "measured")
	if first.Costs.Step[0][0] <= 0 {
		t.Skip("the machine is too busy for a single step in time")
	}
	if again := get(config.MeasureAuto, "kept"); again != first {
		t.Error("other times are kept than were measured")
	}
	files, err := filepath.Glob(filepath.Join(store.Dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"format":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	get(config.MeasureAuto, "measured")
	if !strings.Contains(log.String(), "kept step times are not used") {
		t.Errorf("a damaged file is not mentioned: %s", log.String())
	}
	get(config.MeasureFresh, "measured")

	for _, name := range []string{"SLUICE_CACHE", "XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	log.Reset()
	get(config.MeasureAuto, "measured") // a service without a home starts all the same
	if !strings.Contains(log.String(), "measured again at the next start") {
		t.Errorf("that nothing is kept is not mentioned: %s", log.String())
	}
}

// runHere executes a command line in this process and gives what it wrote.
func runHere(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, terminal{out: &out, err: &err, env: os.LookupEnv})
	return code, out.String(), err.String()
}

// numbers are the two of a line of convert's table.
func numbers(t *testing.T, table, name string) (before, after float64) {
	t.Helper()
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if _, err := fmt.Sscan(rest, &before, &after); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			return before, after
		}
	}
	t.Errorf("no line %q in %s", name, table)
	return 0, 0
}

func TestConvertShowsWhatItChanged(t *testing.T) {
	libs, published, _ := defaultModel(t)
	out := filepath.Join(t.TempDir(), "m.gguf")
	code, table, stderr := runHere("model", "convert", published, out, "--type", "q4_0", "--embedding-type", "q4_0", "--threads", "1", "--llama-lib", libs)
	if code != 0 || !strings.Contains(table, "wrote "+out) {
		t.Fatalf("exit code %d: %s%s", code, table, stderr)
	}
	if a, b := numbers(t, table, "size, MB"); a != 98 || b != 78 {
		t.Errorf("%g and %g MB", a, b)
	}
	if a, b := numbers(t, table, "perplexity (lower is better)"); a < 38 || a > 40 || b < a+3 || b > a+30 {
		t.Errorf("a perplexity of %g before and %g after four bits for everything", a, b)
	}
	for _, name := range []string{"tokens/s, 1 at a time", "tokens/s, 8 at a time", "prompt tokens/s"} {
		if a, b := numbers(t, table, name); a < 1 || b < 1 {
			t.Errorf("%s: %g and %g", name, a, b)
		}
	}
	if code, _, stderr := runHere("model", "convert", published, out, "--type", "q4_0", "--llama-lib", libs); code != exitUsage || !strings.Contains(stderr, "--force") {
		t.Errorf("onto a file that is there: exit code %d: %s", code, stderr)
	}
}

func TestAGPUThatIsNotThereIsAnError(t *testing.T) {
	libs, _, fast := defaultModel(t) // libraries without a part for CUDA
	for _, device := range []string{"cuda", "CUDA0"} {
		for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", t.TempDir()}, {"model", "measure"}} {
			code, stdout, stderr := runHere(append(command, "--device", device, "--llama-lib", libs, "--model", fast)...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, `device "`+device+`" is not offered`) || !strings.Contains(stderr, "make setup-cuda") {
				t.Errorf("%s: exit code %d: %s%s", command[0], code, stdout, stderr)
			}
		}
	}
}

func TestASimulatedDeviceBringsItsCosts(t *testing.T) {
	cfg := config.Default()
	cfg.Device, cfg.Compute.Measure = "sim:cpu-smollm2", config.MeasureOff
	p := &parts{cfg: &cfg, log: slog.New(slog.DiscardHandler)}
	if err := p.openDevice(); err != nil {
		t.Fatal(err)
	}
	if err := p.openCosts(t.Context()); err != nil || p.costs.Step[0][0] != 5_900_000 || p.costs.PrefillToken <= 0 {
		t.Errorf("%+v, %v", p.costs, err)
	}
}
