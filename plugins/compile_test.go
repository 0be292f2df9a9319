package plugins_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	gt "github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/meter"
	"github.com/sluice-dev/sluice/policies"
)

// Fault 13: what would keep the one compiler busy for tens of seconds is refused unread, small as it is.
func TestModulesThatWouldCompileForLongAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	many := func(n int, code ...gt.Code) gt.Code { return gt.Code(slices.Repeat([]byte(gt.Seq(code...)), n)) }
	loop := gt.Loop(gt.Get(0), gt.BrIf(0))
	fill := gt.Seq(gt.I32(0), gt.I32(0), gt.I32(0), gt.Code{0xfc, 0x0b, 0})
	divide := gt.Seq(gt.I32(7), gt.I32(7), gt.Div32, gt.Drop)
	for name, c := range map[string]struct {
		code   gt.Code
		copies int
	}{
		"4,000 loops":                     {many(4000, loop), 1},
		"4,000 conditions":                {many(4000, gt.Get(0), gt.If(gt.I32(1), gt.Set(1))), 1},
		"5,000 fills of memory":           {many(5000, fill), 1},
		"a division for every four bytes": {many(100_000, divide), 1},
		"many functions of 300 loops":     {many(300, loop), 250},
		"many functions of divisions":     {many(10_000, divide), 200},
	} {
		funcs := slices.Repeat([]gt.Func{{Params: "i", Code: c.code}}, c.copies)
		r := newRig(t, plugins.Options{Inline: true})
		err := r.Push(context.Background(), "p", gt.Policy(append(funcs, gt.Hook(abi.ExportAdmit, gt.I32(1)))...), nil)
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wants(t, err, plugins.StageMeter, "to compile")
	}
}

func TestTheShippedPoliciesAreFarFromTheLimitOfWork(t *testing.T) {
	lim := meter.DefaultLimits()
	lim.MaxWork /= 4
	lim.MaxModuleWork /= 2
	for _, p := range policies.Shipped() {
		if _, err := meter.Rewrite(p.Wasm, lim); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
