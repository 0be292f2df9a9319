package plugins

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins/meter"
)

// Budget bounds what one policy may use. Fuel units are the meter's: about one a Wasm instruction, and 61 us a million.
// A zero field means the default: DefaultBudget's, or LeanBudget's for a module that brings no language runtime.
type Budget struct {
	Load      int64  `json:"load,omitempty"`       // the start of an instance, and its configuration
	Scalar    int64  `json:"scalar,omitempty"`     // a hook that sees no rows
	BatchBase int64  `json:"batch_base,omitempty"` // a hook that sees rows: this
	BatchRow  int64  `json:"batch_row,omitempty"`  // and this for each row
	State     int64  `json:"state,omitempty"`      // saving or restoring state, between two steps
	Pages     uint32 `json:"pages,omitempty"`      // memory, in pages of 64 KiB
}

// DefaultBudget admits a policy written in Go. Measured: the start of its runtime takes about 13 M units and 40 pages,
// entering it 1,500 units, a row of the shipped policies up to 2,700, and coming to the first line of a panic up to 1.4 M,
// without which nobody would learn why a policy failed. The meter overstates Go: see /docs/RATIONALE.md. A call that runs
// away over 256 rows is stopped after about 250 us.
var DefaultBudget = Budget{
	Load: 50_000_000, Scalar: 1_500_000, BatchBase: 1_500_000, BatchRow: 10_000, State: 1_000_000, Pages: 512,
}

// LeanBudget is the default for a module that imports nothing of WASI: one in C, Rust or AssemblyScript. Measured: a row of
// the shipped policies takes up to 340 units in C. An endless loop is stopped after some 20 us with one row and 80 us with
// 256, and endless recursion, which costs the growth of its stack, within a millisecond.
var LeanBudget = Budget{
	Load: 10_000_000, Scalar: 300_000, BatchBase: 300_000, BatchRow: 4_000, State: 1_000_000, Pages: 64,
}

// WASIModule is what a language's own runtime imports its system calls from.
const WASIModule = "wasi_snapshot_preview1"

// BudgetFor is the default for a module with these imports. Any goroutine may call it.
func BudgetFor(imports []meter.Import) Budget {
	if slices.ContainsFunc(imports, func(i meter.Import) bool { return i.Module == WASIModule }) {
		return DefaultBudget
	}
	return LeanBudget
}

// or fills the zero fields of b from d.
func (b Budget) or(d Budget) Budget {
	pick := func(x, y int64) int64 {
		if x > 0 {
			return x
		}
		return y
	}
	b.Load, b.Scalar = pick(b.Load, d.Load), pick(b.Scalar, d.Scalar)
	b.BatchBase, b.BatchRow = pick(b.BatchBase, d.BatchBase), pick(b.BatchRow, d.BatchRow)
	b.State = pick(b.State, d.State)
	if b.Pages == 0 {
		b.Pages = d.Pages
	}
	return b
}

// fuel is what one call with n rows or events may burn.
func (b Budget) fuel(e Entry, n int) int64 {
	switch e {
	case EntryConfigure:
		return b.Load
	case EntrySave, EntryRestore:
		return b.State
	case EntryMarker, EntryBatchCap:
		return b.Scalar
	}
	return b.BatchBase + b.BatchRow*int64(n)
}
