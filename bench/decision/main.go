// Command decision measures what a policy's decision costs: each hook of each shipped policy through the policy host, copies,
// fuel and clamping included, and a whole scheduler step with and without policies on a device that takes no time.
//
//	go run ./bench/decision [--runs 5] [--json]
//
// ns/call is the median over runs. A call of n rows copies n requests in and n answers out.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"text/tabwriter"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// figure is one line of the table.
type figure struct {
	What   string  `json:"what"`
	Rows   int     `json:"rows"`
	NS     int64   `json:"ns_per_call"`
	Allocs float64 `json:"allocs_per_call"`
}

func main() {
	runs := flag.Int("runs", 5, "runs; the median counts")
	dir := flag.String("policies", "policies", "folder of the shipped policies")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	figures, err := measure(*dir, *runs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "decision:", err)
		os.Exit(1)
	}
	if *asJSON {
		if err := json.NewEncoder(os.Stdout).Encode(figures); err != nil {
			fmt.Fprintln(os.Stderr, "decision:", err)
			os.Exit(1)
		}
		return
	}
	fmt.Printf("%s, %s, median of %d runs\n", runtime.Version(), runtime.GOARCH, *runs)
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tROWS\tNS/CALL\tALLOCS/CALL")
	for _, f := range figures {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\n", f.What, f.Rows, f.NS, f.Allocs)
	}
	w.Flush()
}

// shipped is the policies that ship, in the order in which serve loads them.
var shipped = []string{"queue-age", "class-priority", "tpot-cap", "spec-off"}

func measure(dir string, runs int) (all []figure, err error) {
	for _, name := range shipped {
		set, done, err := load(dir, name)
		if err != nil {
			return nil, err
		}
		all = append(all, hooks(name, set, runs)...)
		done()
	}
	inC, err := guests(runs)
	if err != nil {
		return nil, err
	}
	all = append(all, inC...)
	set, done, err := load(dir, shipped...)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, waiting := range []int{0, 256} {
		all = append(all,
			step(fmt.Sprintf("step of 16, %d waiting, native", waiting), nil, waiting, runs),
			step(fmt.Sprintf("step of 16, %d waiting, four policies", waiting), set, waiting, runs))
	}
	return all, nil
}

func load(dir string, names ...string) (abi.Decider, func(), error) {
	var all []plugins.Policy
	for _, name := range names {
		code, err := os.ReadFile(filepath.Join(dir, name, name+".wasm"))
		if err != nil {
			return nil, nil, fmt.Errorf("read policy: %w", err)
		}
		all = append(all, plugins.Policy{Name: name, Wasm: code})
	}
	return serve(all...)
}

func serve(all ...plugins.Policy) (abi.Decider, func(), error) {
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("start runtime: %w", err)
	}
	host := plugins.New(rt, plugins.Options{Inline: true})
	if err := host.SetAll(context.Background(), all); err != nil {
		return nil, nil, fmt.Errorf("load policies: %w", err)
	}
	set, _, _ := host.Swap(1)
	return set, func() { host.Close(); rt.Close() }, nil
}

// hooks measures what one policy answers, alone.
func hooks(name string, set abi.Decider, runs int) (all []figure) {
	st := busyState()
	add := func(hook string, n int, call func()) {
		all = append(all, bench(name+" "+hook, n, runs, call))
	}
	h := set.Hooks()
	for _, n := range []int{1, 16, 256} {
		rows := someRows(n)
		if h.Has(abi.HookAdmit) {
			out, by := make([]abi.Verdict, n), make([]abi.PolicyID, n)
			add("admit", n, func() { clear(out); set.Admit(st, rows, out, by) })
		}
		if h.Has(abi.HookPrioritize) {
			out := make([]abi.Ranking, n)
			add("prioritize", n, func() { set.Prioritize(st, rows, out) })
		}
		if h.Has(abi.HookSpeculate) {
			var out abi.SpecPlan
			k := make([]int32, n)
			add("speculate", n, func() { set.Speculate(st, rows, &out, k) })
		}
	}
	if h.Has(abi.HookBatchCap) {
		var out abi.BatchPlan
		add("batch_cap", 0, func() { set.BatchPlan(st, &out) })
	}
	return all
}

func bench(what string, rows, runs int, call func()) figure {
	var ns []int64
	var allocs int64
	for range runs {
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
		ns = append(ns, r.NsPerOp())
		allocs = r.AllocsPerOp()
	}
	slices.Sort(ns)
	return figure{what, rows, ns[len(ns)/2], float64(allocs)}
}

// step measures Plan and Complete of 16 decoding rows, beside a queue.
func step(what string, policy abi.Decider, waiting, runs int) figure {
	cfg := sched.DefaultConfig(16, 512, 1<<41, 1<<50)
	cfg.MaxDraft = abi.MaxDraft
	core, err := sched.New(cfg, policy)
	if err != nil {
		panic(fmt.Sprintf("BUG: the default configuration is invalid: %v", err))
	}
	now := int64(1)
	for i := range 16 + waiting {
		core.Arrive(now, &sched.Request{ID: uint64(i + 1), Arrival: now, PromptTokens: 16, MaxTokens: 1 << 40, Class: uint8(i % 2)})
	}
	var results []sched.Result
	return bench(what, 16, runs, func() {
		now += 5e6
		b := core.Plan(now)
		results = results[:0]
		for i := range b.Rows {
			results = append(results, sched.Result{Emitted: bit(b.Rows[i].Sample)})
		}
		core.Complete(now, results)
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
