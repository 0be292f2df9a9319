// Command cancel measures how long it takes until the place and the KV of a client that leaves are free, on the real model.
//
//	go run ./bench/cancel [--clients 1000] [--repeat 30] [--json]
//
// TARGET_MS is one step and 5 ms: a step that others are in is not broken off. For a crowd the time is that of the last one.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// slack is what may pass beside the step in progress.
const slack = 5 * time.Millisecond

// row is what was measured of one case.
type row struct {
	Case   string  `json:"case"`
	N      int     `json:"n"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Step   float64 `json:"step_ms"` // the longest step that was in progress
	Target float64 `json:"target_ms"`
	Missed int     `json:"missed"` // that took longer than their own step and the slack
}

func main() {
	clients := flag.Int("clients", 1000, "clients that leave at once")
	repeat := flag.Int("repeat", 30, "measurements of each case")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if err := run(*clients, *repeat, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "cancel:", err)
		os.Exit(1)
	}
}

func run(clients, repeat int, asJSON bool) error {
	s, err := open(clients)
	if err != nil {
		return err
	}
	defer s.engine.Close()
	var rows []row
	for _, c := range []struct {
		name   string
		repeat int
		once   func() (took, step time.Duration, err error)
	}{
		{"one of 8 that decode", repeat, s.decoding},
		{"a long prompt alone", repeat, func() (time.Duration, time.Duration, error) { return s.prefilling(0) }},
		{"a long prompt beside 4 that decode", repeat, func() (time.Duration, time.Duration, error) { return s.prefilling(4) }},
		{fmt.Sprintf("%d clients at once", clients), max(3, repeat/6), func() (time.Duration, time.Duration, error) { return s.crowd(clients) }},
	} {
		r, err := measure(c.name, c.repeat, c.once)
		if err != nil {
			return fmt.Errorf("measure %s: %w", c.name, err)
		}
		rows = append(rows, r)
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(rows)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "CASE\tN\tP50_MS\tP99_MS\tSTEP_MS\tTARGET_MS\tMISSED")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%d\n", r.Case, r.N, r.P50, r.P99, r.Step, r.Target, r.Missed)
	}
	return w.Flush()
}

func open(clients int) (*subject, error) {
	libs, _, model, err := llama.DefaultPaths()
	if err != nil {
		return nil, err
	}
	dev, err := llama.Open(llama.Options{LibDir: libs, ModelPath: model, Device: llama.DeviceCPU, MaxSeqs: 16})
	if err != nil {
		return nil, fmt.Errorf("open device: %w", err)
	}
	s := &subject{timed: &timed{Device: dev}}
	info := dev.Info()
	cfg := engine.Config{
		Device: s.timed, Tokenizer: dev.Tokenizer(), NoPrefixCache: true,
		Sched: sched.DefaultConfig(info.MaxSeqs, info.MaxBatchTokens, info.ContextTokens, info.KVTokens),
	}
	cfg.Sched.MaxWaiting = max(cfg.Sched.MaxWaiting, clients)
	if s.engine, err = engine.New(cfg); err != nil {
		return nil, err
	}
	s.words, err = dev.Tokenizer().Encode(text, false)
	return s, err
}
