package meter

import (
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

const unreachableTrap = "wasm error: unreachable"

// endless holds programs that never end by themselves.
var endless = map[string][]byte{
	"loop by br":       plain(noLocals, opLoop, blockEmpty, 0x0c, 0, opEnd),
	"loop by br_if":    plain(noLocals, opLoop, blockEmpty, i32c(1), 0x0d, 0, opEnd),
	"loop by br_table": plain(noLocals, opLoop, blockEmpty, i32c(7), 0x0e, vec([]byte{0}, []byte{0}), 0, opEnd),
	"loop from inside blocks": plain(noLocals,
		opLoop, blockEmpty, opBlock, blockEmpty, i32c(1), opIf, blockEmpty, 0x0c, 2, opEnd, opEnd, opEnd),
	"loop with a parameter": module(
		section(secType, void, i2i), section(secFunction, u32(0)), section(secExport, export("run", KindFunction, 0)),
		section(secCode, fn(noLocals, i32c(0), opLoop, 1, 0x0c, 0, opEnd, 0x1a))),
	"recursion":          plain(noLocals, 0x10, 0),
	"indirect recursion": withMemory(memoryOp(1, miscTableInit, 0, 0), i32c(0), 0x11, 0, 0),
	"mutual recursion": module(
		section(secType, void), section(secFunction, u32(0), u32(0)), section(secExport, export("run", KindFunction, 0)),
		section(secCode, fn(noLocals, 0x10, 1), fn(noLocals, 0x10, 0))),
	"fills of nothing":    withMemory(opLoop, blockEmpty, memoryOp(0, miscMemoryFill, 0), 0x0c, 0, opEnd),
	"fills of everything": withMemory(opLoop, blockEmpty, memoryOp(65536, miscMemoryFill, 0), 0x0c, 0, opEnd),
	"growing":             withMemory(opLoop, blockEmpty, grow(1), growTable(1), 0x0c, 0, opEnd),
}

func TestEndlessStops(t *testing.T) {
	rts := engines(t)
	for name, wasm := range endless {
		t.Run(name, func(t *testing.T) {
			m := rewrite(t, wasm)
			for _, budget := range []int64{0, 1, 1000, 100_000} {
				var first int64
				for engine, rt := range rts {
					o, left := metered(t, rt, compile(t, rt, m.Code), budget, "run")
					if left >= 0 || o.trap != unreachableTrap {
						t.Fatalf("%s: budget %d: %d left, trap %q", engine, budget, left, o.trap)
					}
					if first == 0 {
						first = left
					}
					if left != first {
						t.Errorf("budget %d: the engines stop at %d and %d", budget, first, left)
					}
				}
			}
		})
	}
}

// TestDeepRecursionEndsByFuel: frames large and small, with the budgets that the host gives.
func TestDeepRecursionEndsByFuel(t *testing.T) {
	var loads []byte
	for i := range 300 {
		loads = cat(loads, opLocalGet, 0, 0x28, 2, u32(uint32(4*i)))
	}
	// 300 values are live over the call: their sum is stored after it.
	live := cat(i32c(0), loads, opLocalGet, 0, 0x10, 0, rep(299, 0x6a), 0x36, 2, 0)
	large := module(
		section(secType, funcType(types(I32), vec()), void), section(secFunction, u32(0), u32(1)),
		section(secMemory, cat(0, 1)), section(secExport, export("run", KindFunction, 1)),
		section(secCode, fn(noLocals, live), fn(noLocals, i32c(8), 0x10, 0)))
	rt := newRuntime(t, wazero.NewRuntimeConfigCompiler())
	for name, wasm := range map[string][]byte{"small": endless["recursion"], "large": large} {
		code := compile(t, rt, rewrite(t, wasm).Code)
		for _, budget := range []int64{100_000, 2_000_000} {
			if o, left := metered(t, rt, code, budget, "run"); left >= 0 || o.trap != unreachableTrap {
				t.Errorf("%s frames, budget %d: %d left, trap %q", name, budget, left, o.trap)
			}
		}
	}
}

func withStart(code ...any) []byte {
	return module(
		section(secType, void), section(secFunction, u32(0), u32(0)),
		section(secExport, export("run", KindFunction, 1)), rawSection(secStart, 0),
		section(secCode, fn(noLocals, code...), fn(noLocals)))
}

func TestStartHasItsOwnBudget(t *testing.T) {
	ctx := context.Background()
	lim := testLimits()
	lim.StartFuel = 1000
	for engine, rt := range engines(t) {
		loop, err := Rewrite(withStart(opLoop, blockEmpty, 0x0c, 0, opEnd), lim)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rt.Instantiate(ctx, loop.Code)
		if err == nil || !strings.Contains(err.Error(), "unreachable") {
			t.Errorf("%s: a start function that loops: %v", engine, err)
		}
		calm, err := Rewrite(withStart(0x01), lim)
		if err != nil {
			t.Fatal(err)
		}
		mod, err := rt.InstantiateWithConfig(ctx, calm.Code, wazero.NewModuleConfig().WithName("calm"))
		if err != nil {
			t.Fatalf("%s: %v", engine, err)
		}
		if left := fuelOf(mod).Get(); left != 1000-64 {
			t.Errorf("%s: after the start function %d are left", engine, left)
		}
	}
}

// TestSpentStaysSpent: a guest that is called again after its trap, against the contract, still has nothing to spend.
func TestSpentStaysSpent(t *testing.T) {
	rt := newRuntime(t, wazero.NewRuntimeConfigCompiler())
	mod := instantiate(t, rt, compile(t, rt, rewrite(t, endless["loop by br"]).Code))
	fuel := fuelOf(mod)
	fuel.Set(500)
	for range 100 {
		if o := call(mod, "run"); o.trap != unreachableTrap || int64(fuel.Get()) >= 0 {
			t.Fatalf("trap %q, %d left", o.trap, int64(fuel.Get()))
		}
	}
}
