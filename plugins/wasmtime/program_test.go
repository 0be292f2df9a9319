//go:build wasmtime

package wasmtime_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/program"
)

var (
	seed     = flag.Int("seed", 0, "of the first random program; 0 draws one")
	programs = flag.Int("programs", 2000, "how many random programs both runtimes run")
)

// TestRandomProgramsAreTheSameInBoth runs each program three times in one instance with plenty of fuel, and then in new ones
// with exactly what the first run took, with a unit less, and with a part of it.
func TestRandomProgramsAreTheSameInBoth(t *testing.T) {
	first := *seed
	if first == 0 {
		first = int(rand.Uint32())
	}
	t.Logf("-seed %d", first)
	rts := both(t)
	draw := []*rapid.Generator[[]byte]{rapid.Custom(program.Build), rapid.Custom(program.BuildWithNaNs)}
	seen := map[string]int{}
	for n := range *programs {
		wasm := draw[n%2].Example(first + n)
		code := metered(t, wasm)
		share := rand.New(rand.NewPCG(uint64(first+n), 0)).Float64()
		var stories [2]string
		for k, rt := range rts {
			stories[k] = runProgram(compile(t, rt, code), share)
		}
		if stories[0] != stories[1] {
			t.Fatalf("-seed %d -programs %d: wazero:\n%s\nwasmtime:\n%s\n%x", first, n+1, stories[0], stories[1], wasm)
		}
		seen[ending(stories[0])]++
	}
	t.Logf("how the programs ended: %v", seen)
	if seen["it returned"] == 0 || len(seen) < min(*programs, 3) {
		t.Errorf("the programs show too little: %v", seen)
	}
}

func runProgram(m plugins.Module, share float64) string {
	defer m.Close()
	var spent int64
	all := tell(m, func(s *story, i plugins.Instance) {
		c := plugins.Call{Entry: plugins.EntryAdmit, Arg: program.Arg32, Fuel: 1 << 40}
		again := s.call(i, &c)
		spent = c.Used
		for range 2 {
			again = again && s.call(i, &c)
		}
	})
	for _, budget := range []int64{spent, spent - 1, int64(float64(spent) * share)} {
		all += tell(m, func(s *story, i plugins.Instance) {
			s.call(i, &plugins.Call{Entry: plugins.EntryAdmit, Arg: program.Arg32, Fuel: budget})
		})
	}
	return all
}

// ending is how the first call of a story ended.
func ending(s string) string {
	lines := strings.SplitN(s, "\n", 4)
	if why, ok := strings.CutPrefix(lines[2], "trap in sluice_admit: "); ok {
		return why
	}
	return "it returned"
}
