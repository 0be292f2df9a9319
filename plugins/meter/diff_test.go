package meter

import (
	"context"
	"strconv"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/plugins/internal/program"
)

var programArgs = []uint64{program.Arg32, program.Arg64}

// TestMeteredAsOriginal: with a budget that is large enough a program does what it does unmetered; what it spends is exact,
// covers its work, and is the same in two engines; with less it stops at the same place every time.
func TestMeteredAsOriginal(t *testing.T) {
	rts := engines(t)
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		wasm := program.Build(t)
		m := rewrite(t, wasm)
		var spent [2]int64
		share := rapid.Float64Range(0, 0.999).Draw(t, "share of the budget")
		for i, engine := range []string{"compiler", "interpreter"} {
			spent[i] = checkProgram(t, rts[engine], wasm, m.Code, share, seen)
		}
		if spent[0] != spent[1] {
			t.Fatalf("the compiler spends %d, the interpreter %d\n%x", spent[0], spent[1], wasm)
		}
	})
	t.Logf("how the programs ended: %v", seen)
	if seen[""] == 0 || len(seen) < 3 {
		t.Errorf("the programs show too little: %v", seen)
	}
}

func checkProgram(t *rapid.T, rt wazero.Runtime, wasm, code []byte, share float64, seen map[string]int) int64 {
	ctx := context.Background()
	original, rewritten := compile(t, rt, wasm), compile(t, rt, code)
	defer original.Close(ctx)
	defer rewritten.Close(ctx)
	run := func(budget int64) (outcome, int64) { return metered(t, rt, rewritten, budget, "run", programArgs...) }

	want := bare(t, rt, original, "run", programArgs...)
	got, left := run(plenty)
	spent := plenty - left
	if got != want {
		t.Fatalf("metered %+v\noriginal %+v\n%x", got, want, wasm)
	}
	seen[got.trap]++
	steps, err := strconv.ParseUint(got.globals[9:17], 16, 32) // g0, the first of them
	if used := int64(program.Steps - int32(steps)); err != nil || spent < used {
		t.Fatalf("%d units for %d calls and loop passes\n%x", spent, used, wasm)
	}
	if exact, left := run(spent); exact != want || left != 0 {
		t.Fatalf("with %d units, as many as it takes: %+v, %d left\n%x", spent, exact, left, wasm)
	}
	for _, budget := range []int64{spent - 1, int64(float64(spent) * share)} {
		first, left := run(budget)
		if first.trap != unreachableTrap || left >= 0 {
			t.Fatalf("with %d of %d units: trap %q, %d left\n%x", budget, spent, first.trap, left, wasm)
		}
		if again, againLeft := run(budget); again != first || againLeft != left {
			t.Fatalf("with %d of %d units: once %+v, %d left, then %+v, %d left\n%x", budget, spent, first, left, again, againLeft, wasm)
		}
	}
	return spent
}
