//go:build wasmtime

package wasmtime_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/wasmasm"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// recursive is a policy whose admit hook calls a function that calls itself with so many vectors, which it all needs again
// afterwards.
func recursive(vectors int) []byte {
	params := make([]meter.ValueType, vectors)
	var pass, use []byte
	for k := range params {
		params[k] = meter.V128
		pass = wasmasm.Cat(pass, 0x20, wasmasm.U32(uint32(k)))
		use = wasmasm.Cat(use, wasmasm.I32(0), 0x20, wasmasm.U32(uint32(k)), 0xfd, 0x0b, 4, 0) // v128.store
	}
	var first []byte
	for range params {
		first = wasmasm.Cat(first, wasmasm.I32(1), 0xfd, 0x11) // i32x4.splat
	}
	return wasmasm.Module(
		wasmasm.Section(wasmasm.SecType, wasmasm.FuncType(wasmasm.Types(params...), wasmasm.Vec()),
			wasmasm.FuncType(wasmasm.Types(meter.I32), wasmasm.Types(meter.I32))),
		wasmasm.Section(wasmasm.SecFunction, wasmasm.U32(0), wasmasm.U32(1)),
		wasmasm.Section(wasmasm.SecMemory, wasmasm.Cat(0, 1)),
		wasmasm.Section(wasmasm.SecExport, wasmasm.Export(abi.ExportAdmit, meter.KindFunction, 1),
			wasmasm.Export(abi.ExportMemory, meter.KindMemory, 0)),
		wasmasm.Section(wasmasm.SecCode,
			wasmasm.Fn(wasmasm.Vec(), pass, 0x10, 0, use), wasmasm.Fn(wasmasm.Vec(), first, 0x10, 0, wasmasm.I32(0))))
}

// TestRecursionEndsByFuelInBoth: whatever the frames are like, with the largest budget of a decision, and with the one of a
// start for ordinary frames.
func TestRecursionEndsByFuelInBoth(t *testing.T) {
	b := plugins.DefaultBudget
	decision := b.BatchBase + b.BatchRow*abi.MaxRows
	rts := both(t)
	for _, c := range []struct {
		vectors int
		budget  int64
	}{{0, b.Load}, {1, b.Load}, {4, decision}, {30, decision}, {200, decision}, {900, decision}} {
		code := metered(t, recursive(c.vectors))
		var stories [2]string
		for k, rt := range rts {
			m := compile(t, rt, code)
			stories[k] = tell(m, func(s *story, i plugins.Instance) {
				s.call(i, &plugins.Call{Entry: plugins.EntryAdmit, Fuel: c.budget})
			})
			m.Close()
		}
		if stories[0] != stories[1] || !strings.Contains(stories[0], "out of fuel: true") {
			t.Errorf("%d vectors: wazero:\n%s\nwasmtime:\n%s", c.vectors, stories[0], stories[1])
		}
	}
}
