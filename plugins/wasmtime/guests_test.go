//go:build wasmtime

package wasmtime_test

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

func importing(name, params, results string) []guesttest.Func {
	return []guesttest.Func{{Export: name, Params: params, Results: results}}
}

func admitting(imports []guesttest.Func, code ...guesttest.Code) guesttest.Module {
	return guesttest.Module{Imports: imports, Data: "first\nsecond \x07\xff line", Named: true,
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit, code...)}}
}

// TestHostileGuestsAreTheSameInBoth calls each guest with every budget up to what it takes, in steps.
func TestHostileGuestsAreTheSameInBoth(t *testing.T) {
	const free = guesttest.Free
	rts := both(t)
	for name, m := range map[string]guesttest.Module{
		"admits":            {Funcs: []guesttest.Func{guesttest.Admit(3)}},
		"never ends":        admitting(nil, guesttest.Forever(), guesttest.I32(0)),
		"recurses":          admitting(nil, guesttest.Get(0), guesttest.Call(0)),
		"grows":             admitting(nil, guesttest.Loop(guesttest.I32(1), guesttest.Grow, guesttest.Drop, guesttest.Br(0)), guesttest.I32(0)),
		"reads far":         admitting(nil, guesttest.I32(-4), guesttest.Load32(0xffff_fff0)),
		"divides by 0":      admitting(nil, guesttest.I32(1), guesttest.I32(0), guesttest.Div32),
		"does not start":    {Start: guesttest.Forever()},
		"traps at start":    {Start: guesttest.Seq(guesttest.I32(1), guesttest.I32(0), guesttest.Div32, guesttest.Drop)},
		"starts with a log": {Imports: importing("sluice.log", "iii", ""), Data: "hello", Start: guesttest.Seq(guesttest.I32(2), guesttest.I32(free), guesttest.I32(5), guesttest.Call(0))},
		"logs": admitting(importing("sluice.log", "iii", ""), guesttest.Loop(
			guesttest.I32(-1), guesttest.I32(free), guesttest.I32(20), guesttest.Call(0), guesttest.Br(0)), guesttest.I32(0)),
		"logs what it has not": admitting(importing("sluice.log", "iii", ""),
			guesttest.I32(1), guesttest.I32(-8), guesttest.I32(1<<30), guesttest.Call(0), guesttest.I32(0)),
		"publishes": admitting(importing("sluice.metric", "il", ""), guesttest.I32(31), guesttest.I64(-9), guesttest.Call(0), guesttest.I32(1)),
		"draws":     admitting(importing("wasi_snapshot_preview1.random_get", "ii", "i"), guesttest.I32(free), guesttest.I32(77), guesttest.Call(0)),
		"tells the time": admitting(importing("wasi_snapshot_preview1.clock_time_get", "ili", "i"),
			guesttest.I32(0), guesttest.I64(1), guesttest.I32(free), guesttest.Call(0)),
		"prints": admitting(importing("wasi_snapshot_preview1.fd_write", "iiii", "i"),
			guesttest.Put32(free+100, free), guesttest.Put32(free+104, 20),
			guesttest.I32(2), guesttest.I32(free+100), guesttest.I32(1), guesttest.I32(free+200), guesttest.Call(0)),
		"exits": admitting(importing("wasi_snapshot_preview1.proc_exit", "i", ""), guesttest.I32(7), guesttest.Call(0), guesttest.I32(0)),
		"asks for too much": admitting(importing("wasi_snapshot_preview1.random_get", "ii", "i"),
			guesttest.I32(free), guesttest.I32(-1), guesttest.Call(0)),
	} {
		t.Run(name, func(t *testing.T) {
			code := metered(t, m.Bytes())
			var stories [2]string
			for k, rt := range rts {
				stories[k] = everyBudget(compile(t, rt, code))
			}
			if stories[0] != stories[1] {
				t.Errorf("wazero:\n%s\nwasmtime:\n%s", stories[0], stories[1])
			}
		})
	}
}

func everyBudget(m plugins.Module) (all string) {
	defer m.Close()
	for budget := int64(0); budget < 1000; budget += 23 {
		all += tell(m, func(s *story, i plugins.Instance) {
			c := plugins.Call{Entry: plugins.EntryAdmit, Arg: 2, Fuel: budget, Now: 42, Seed: uint64(budget)}
			c.Out = plugins.Region{Ptr: guesttest.OutPtr, Len: 64}
			for range 2 {
				if !s.call(i, &c) {
					return
				}
			}
		})
	}
	return all
}
