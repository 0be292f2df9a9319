package main

import (
	"bytes"
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
		if err != nil || source != want || r.Costs.PrefillToken <= 0 {
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
}

func TestWhatConvertingChangesIsMeasured(t *testing.T) {
	libs, published, _ := defaultModel(t)
	m, err := figuresOf(t.Context(), libs, published, 1)
	if err != nil {
		t.Fatal(err)
	}
	if m.perplexity < 38 || m.perplexity > 40 || m.report.DecodePerSecond(1) <= 0 || m.bytes != 98_362_432 {
		t.Errorf("perplexity %g, %g tokens a second, %d bytes", m.perplexity, m.report.DecodePerSecond(1), m.bytes)
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
