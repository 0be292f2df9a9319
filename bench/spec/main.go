// Command spec measures speculation with n-grams: tokens per second of the engine with drafts beside the same engine without, in one process, in
// turns, on the same model, prompts and lengths.
//
//	go run ./bench/spec [--streams 1,2,4,8,16] [--tokens 128] [--repeat 3] [--policy] [--k 15]
//
// Two kinds of text: one that quotes its prompt, greedily, as in editing code or documents, where n-grams are mostly right; and ordinary
// prompts at temperature 0.8, where they seldom are and must cost nothing. RATIO is the median of the rate with drafts over that without, pair
// by pair. How many drafts pay is decided by the host's default, or with --policy by the policy that ships, from step times that are
// measured first.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sluice-dev/sluice/gpu/llama"
)

func main() {
	streams := flag.String("streams", "1,2,4,8,16", "numbers of streams, with commas")
	tokens := flag.Int("tokens", 128, "tokens that each stream generates")
	repeat := flag.Int("repeat", 3, "pairs measured; medians are shown")
	policy := flag.Bool("policy", false, "let the policy spec-off decide")
	k := flag.Int("k", 15, "most draft tokens of a request in a step")
	flag.Parse()
	if err := run(*streams, *tokens, *repeat, *policy, *k); err != nil {
		fmt.Fprintln(os.Stderr, "spec:", err)
		os.Exit(1)
	}
}

func run(streams string, tokens, repeat int, policy bool, k int) error {
	libs, _, model, err := llama.DefaultPaths()
	if err != nil {
		return err
	}
	off, err := open(llama.Options{LibDir: libs, ModelPath: model, Device: llama.DeviceCPU, MaxSeqs: 16}, nil, 0, false)
	if err != nil {
		return err
	}
	defer off.close()
	on, err := open(llama.Options{LibDir: libs, ModelPath: model, Device: llama.DeviceCPU, MaxSeqs: 16}, &off.costs, k, policy)
	if err != nil {
		return err
	}
	defer on.close()
	fmt.Printf("%s, %d tokens a stream, median of %d pairs\n", on.info.Model, tokens, repeat)
	on.writeCosts(os.Stdout)
	for _, w := range []workload{quoting, ordinary} {
		fmt.Printf("\n%s\n", w.name)
		out := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(out, "STREAMS\tOFF_TOKENS_PER_S\tON_TOKENS_PER_S\tRATIO\tTOKENS_A_ROW\tACCEPTED_BY_POSITION\tROWS_BY_K")
		for s := range strings.SplitSeq(streams, ",") {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 || n > 16 {
				return fmt.Errorf("read --streams: %q is not a number from 1 to 16", s)
			}
			if err := pairs(out, off, on, w, n, tokens, repeat); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// pairs writes the row of one number of streams. The first pair warms up; who goes first alternates.
func pairs(out *tabwriter.Writer, off, on *server, w workload, streams, tokens, repeat int) error {
	var rates [2][]float64
	var ratios []float64
	var seen drafts
	for i := range repeat + 1 {
		var rate [2]float64
		for j := range 2 {
			which := (i + j) % 2
			s := []*server{off, on}[which]
			before, err := s.drafts()
			if err != nil {
				return err
			}
			if rate[which], err = s.decode(w, streams, tokens, i); err != nil {
				return fmt.Errorf("measure %d streams: %w", streams, err)
			}
			after, err := s.drafts()
			if err != nil {
				return err
			}
			if which == 1 && i > 0 {
				seen.add(after.since(before))
			}
		}
		if i > 0 {
			rates[0], rates[1] = append(rates[0], rate[0]), append(rates[1], rate[1])
			ratios = append(ratios, rate[1]/rate[0])
		}
	}
	fmt.Fprintf(out, "%d\t%.1f\t%.1f\t%.3f\t%s\n", streams, median(rates[0]), median(rates[1]), median(ratios), &seen)
	return nil
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
