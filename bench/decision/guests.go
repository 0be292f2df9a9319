package main

import (
	"fmt"

	"github.com/sluice-dev/sluice/bench/internal/guest"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// guests measures two small policies in C: one that judges a row, and one that ranks a long queue, in calls of as many rows
// as one call may have.
func guests(runs int) (all []figure, err error) {
	for _, name := range []string{"shed", "rank"} {
		wasm, err := guest.Build(name, "sdk/c")
		if err != nil {
			return nil, err
		}
		set, done, err := serve(plugins.Policy{Name: name, Wasm: wasm})
		if err != nil {
			return nil, fmt.Errorf("load guest %s: %w", name, err)
		}
		all = append(all, hooks(name+" in C,", set, runs)...)
		if set.Hooks().Has(abi.HookPrioritize) {
			all = append(all, rank(name+" in C, prioritize", set, 1000, runs), rank(name+" in C, prioritize", set, 10_000, runs))
		}
		done()
	}
	return all, nil
}

func rank(what string, set abi.Decider, n, runs int) figure {
	st, rows, out := busyState(), someRows(n), make([]abi.Ranking, n)
	return bench(what, n, runs, func() {
		for from := 0; from < n; from += abi.MaxRows {
			to := min(from+abi.MaxRows, n)
			set.Prioritize(st, rows[from:to], out[from:to])
		}
	})
}
