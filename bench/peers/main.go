// Command peers asks the same Question of Sluice's policy host and of six other ways to put a rule beside a Go program, in
// one process and one run: is this waiting request to be shed because it has waited too long?
//
//	cd bench/peers && go run . [--runs 5]
//
// It is a module of its own, so that none of the peers is a dependency of Sluice. Building the guests needs clang and
// wasm-ld. ns/call is the median over runs and includes whatever the peer needs to take the Question and give the answer.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"text/tabwriter"
)

// Question is what every peer is told: a time in ns, a limit in ns, and how many requests wait.
type Question struct{ WaitNS, MaxAgeNS, Waiting int64 }

// shed is the rule. Every peer must give its answers.
func shed(q Question) bool { return q.WaitNS > q.MaxAgeNS && q.Waiting > 0 }

// peer is one way to ask.
type peer struct {
	name  string
	start func() (ask func(Question) (bool, error), stop func(), err error)
}

func main() {
	servePlugin() // does not return in the child that the go-plugin peer starts
	runs := flag.Int("runs", 5, "runs; the median counts")
	flag.Parse()
	fmt.Printf("%s, %s, median of %d runs\n", runtime.Version(), runtime.GOARCH, *runs)
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "peer\tns/call\tallocs/call\ttimes the first\t")
	first := int64(0)
	for _, p := range peers() {
		ns, allocs, err := measure(p, *runs)
		if err != nil {
			fmt.Fprintf(os.Stderr, "peers: %s: %v\n", p.name, err)
			os.Exit(1)
		}
		if first == 0 {
			first = ns
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t\n", p.name, ns, allocs, float64(ns)/float64(first))
	}
	w.Flush()
}

func peers() []peer {
	return []peer{
		{"sluice, C guest", sluiceC}, {"sluice, Go guest", sluiceGo},
		{"starlark", starlarkPeer}, {"expr", exprPeer}, {"cel-go", celPeer},
		{"go-plugin (net/rpc)", goPlugin}, {"extism", extismPeer}, {"opa (rego)", opaPeer},
	}
}

// questions are those that each peer must answer rightly before it is timed.
var questions = []Question{{0, 2e9, 1}, {2e9, 2e9, 5}, {2e9 + 1, 2e9, 5}, {9e9, 2e9, 0}, {1 << 40, 1, 1 << 20}}

func measure(p peer, runs int) (ns, allocs int64, err error) {
	ask, stop, err := p.start()
	if err != nil {
		return 0, 0, fmt.Errorf("start: %w", err)
	}
	defer stop()
	for _, q := range questions {
		got, err := ask(q)
		if err != nil {
			return 0, 0, fmt.Errorf("ask %+v: %w", q, err)
		}
		if got != shed(q) {
			return 0, 0, fmt.Errorf("ask %+v: it says %v", q, got)
		}
	}
	var all []int64
	for range runs {
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _, err := ask(questions[i%len(questions)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		all, allocs = append(all, r.NsPerOp()), r.AllocsPerOp()
	}
	slices.Sort(all)
	return all[len(all)/2], allocs, nil
}
