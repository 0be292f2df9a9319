// Command gen writes the example trace burst.csv: ten synthetic minutes of a small server with two classes of requests,
// and, in the middle, 45 seconds in which far more arrive than it can serve. Nothing in it was measured.
//
//	go run ./examples/traces/gen > examples/traces/burst.csv
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
)

// stream is one kind of traffic: Poisson arrivals, lengths uniform within bounds.
type stream struct {
	class          string
	from, to       float64 // s
	perSecond      float64
	prompt, output [2]int // least and most
}

var streams = []stream{
	{"interactive", 0, 600, 0.9, [2]int{20, 300}, [2]int{10, 90}},
	{"batch", 0, 600, 0.1, [2]int{300, 1500}, [2]int{40, 160}},
	{"interactive", 240, 285, 5, [2]int{20, 300}, [2]int{10, 90}},
	{"batch", 245, 275, 0.6, [2]int{500, 2500}, [2]int{40, 160}},
}

type row struct {
	at             float64
	prompt, output int
	class          string
}

func generate(w io.Writer, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	within := func(b [2]int) int { return b[0] + rng.IntN(b[1]-b[0]+1) }
	var rows []row
	for _, s := range streams {
		for at := s.from + rng.ExpFloat64()/s.perSecond; at < s.to; at += rng.ExpFloat64() / s.perSecond {
			rows = append(rows, row{at, within(s.prompt), within(s.output), s.class})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "arrival_s,prompt_tokens,output_tokens,class")
	for _, r := range rows {
		fmt.Fprintf(b, "%.3f,%d,%d,%s\n", r.at, r.prompt, r.output, r.class)
	}
	return b.Flush()
}

func main() {
	if err := generate(os.Stdout, 1); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
