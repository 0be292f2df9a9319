package sluice_test

import (
	"context"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies/wasmtest"
	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// A policy that allocates lives on in little memory, if it is given the fuel that a collection takes: half a gigabyte goes
// through ten megabytes here.
func TestAllocatingPolicyStaysSmall(t *testing.T) {
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	host := plugins.New(rt, plugins.Options{Inline: true, Budget: plugins.Budget{BatchBase: 100_000_000, Pages: 160}})
	defer host.Close()
	wasm := wasmtest.Build(t, "./sdk/go/testdata/allocates")
	if err := host.Push(context.Background(), "allocates", wasm, map[string]string{"each": "8"}); err != nil {
		t.Fatal(err)
	}
	set, _, _ := host.Swap(1)
	rows, out, by := make([]abi.Row, 1), make([]abi.Verdict, 1), make([]abi.PolicyID, 1)
	st := abi.State{Size: abi.StateSize}
	calls := 1_000_000
	if testing.Short() {
		calls = 200_000
	}
	for range calls {
		st.StepID++
		st.NowNS += 1_000_000
		if set.Admit(&st, rows, out, by); by[0] <= 0 || out[0].Action != uint8(abi.ActionAdmit) {
			t.Fatalf("call %d: %+v by %d; %+v", st.StepID, out[0], by[0], host.List()[0])
		}
	}
	p := host.List()[0]
	if p.Replaced != 0 {
		t.Errorf("%d instances were replaced", p.Replaced)
	}
	t.Logf("%d calls, at most %d units of fuel in one", calls, p.Calls[1].MaxFuel)
}

// So it does where the clock goes on during a call, which has the collector wait for its turn.
func TestTheCollectorGetsItsTurn(t *testing.T) {
	g := wasmtest.Compile(t, wasmtest.Build(t, "./sdk/go/testdata/allocates")).Start(t)
	if err := g.Configure(map[string]string{"each": "8", "size": "4096"}); err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		g.Admit(&sluice.State{}, sluice.Row{})
	}
	if pages := g.Pages(); pages > 400 {
		t.Errorf("it has grown to %d pages", pages)
	}
}
