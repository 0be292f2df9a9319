package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/gpu/measure"
)

// checkLimit is how long the step times of one form of a model are measured.
const checkLimit = 4 * time.Second

// checkStreams are the numbers of streams that are shown.
var checkStreams = []int{1, 8}

// modelFigures is what converting a model changes.
type modelFigures struct {
	bytes      int64
	report     measure.Report
	perplexity float64
}

// showGain measures the model before and after it was converted, one after the other, and prints both.
func showGain(ctx context.Context, t terminal, libs, before, after string, threads int) error {
	var all [2]modelFigures
	for i, path := range []string{before, after} {
		fmt.Fprintf(t.err, "checking: speed and perplexity of %s\n", path)
		var err error
		if all[i], err = figuresOf(ctx, libs, path, threads); err != nil {
			return err
		}
	}
	cell := func(format string, f func(*modelFigures) float64) []string {
		return []string{fmt.Sprintf(format, f(&all[0])), fmt.Sprintf(format, f(&all[1]))}
	}
	rows := [][]string{append([]string{"size, MB"}, cell("%.0f", func(m *modelFigures) float64 { return float64(m.bytes) / 1e6 })...)}
	for _, n := range checkStreams {
		rows = append(rows, append([]string{fmt.Sprintf("tokens/s, %d at a time", n)}, cell("%.0f", func(m *modelFigures) float64 { return m.report.DecodePerSecond(n) })...))
	}
	rows = append(rows, append([]string{"prompt tokens/s"}, cell("%.0f", func(m *modelFigures) float64 { return m.report.PrefillPerSecond() })...),
		append([]string{"perplexity (lower is better)"}, cell("%.2f", func(m *modelFigures) float64 { return m.perplexity })...))
	if err := printTable(t.out, []string{"", "BEFORE", "AFTER"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(t.out, "perplexity is of a short English text, to compare the two by; what your own texts lose is for you to measure")
	return err
}

func figuresOf(ctx context.Context, libs, path string, threads int) (m modelFigures, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return m, err
	}
	dev, err := llama.Open(llama.Options{LibDir: libs, ModelPath: path, Threads: threads, MaxSeqs: checkStreams[len(checkStreams)-1], KVTokens: 2048, MaxBatchTokens: 256})
	if err != nil {
		return m, err
	}
	defer dev.Close()
	m.bytes = st.Size()
	if m.report, err = measure.Run(ctx, dev, measure.Options{Limit: checkLimit, Plain: true}); err != nil {
		return m, err
	}
	text, err := dev.Tokenizer().Encode(measure.Text, false)
	if err != nil {
		return m, err
	}
	m.perplexity, err = measure.Perplexity(ctx, dev, text)
	return m, err
}
