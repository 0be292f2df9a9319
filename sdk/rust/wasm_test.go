package rust

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases/casestest"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
	"github.com/sluice-dev/sluice/policies/wasmtest"
	"github.com/sluice-dev/sluice/sdk/conformance"
	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// guests are policies for these tests only.
const guests = "testdata/guests"

// maxModule is what a policy in Rust may have: there is no runtime in it.
const maxModule = 32 << 10

// The policies that ship decide the same when they are written in Rust.
func TestExamplesDecideAsThePoliciesThatShip(t *testing.T) {
	built := modules(t, ".")
	for _, m := range policies.Shipped() {
		t.Run(m.Name, func(t *testing.T) {
			wasm := built(t, strings.ReplaceAll(m.Name, "-", "_"))
			if len(wasm) > maxModule {
				t.Errorf("%d bytes, more than %d", len(wasm), maxModule)
			}
			declaresTheSame(t, wasm, m.Wasm)
			casestest.Shipped(t, m.Name, wasm)
			if !testing.Short() {
				conformance.Compare(t, m.Name, m.Wasm, wasm)
			}
		})
	}
}

func declaresTheSame(t *testing.T, wasm, inGo []byte) {
	t.Helper()
	m := wasmtest.Compile(t, wasm)
	d, want := m.Start(t).Descriptor, wasmtest.Compile(t, inGo).Start(t).Descriptor
	if d.Hooks != want.Hooks || d.Reads != want.Reads || d.Major != want.Major || d.Minor != want.Minor || d.RowStride != want.RowStride {
		t.Errorf("descriptor %+v, and in Go %+v", d, want)
	}
	if imports := m.Imports(); !slices.Equal(imports, []string{"sluice.log"}) {
		t.Errorf("it imports %q", imports)
	}
}

// A policy with every hook is told what one in Go is told, and answers the same.
func TestEveryHook(t *testing.T) {
	wasm := modules(t, guests)(t, "everything")
	conformance.CompareWith(t, "everything", conformance.Settings{
		Taken:   []map[string]string{{"limit": "2s"}},
		Refused: []map[string]string{{"limit": "soon"}, {"limits": "2s"}, {"why": "x", "limit": "2h"}},
	}, wasmtest.Build(t, "./sdk/go/testdata/everything"), wasm)

	m := wasmtest.Compile(t, wasm)
	if imports := m.Imports(); !slices.Equal(imports, []string{"sluice.log", "sluice.metric"}) {
		t.Errorf("it imports %q", imports)
	}
	g := m.Start(t)
	outOfRange(t, g)
	wasmtest.Flat(t, g, 100_000)
}

// A host that passes more than the descriptor offers gets a fault and not a trap, and so does one that calls a hook which the
// policy does not have.
func outOfRange(t *testing.T, g *wasmtest.Guest) {
	for _, export := range []string{"sluice_admit", "sluice_prioritize", "sluice_speculate", "sluice_events", "sluice_configure", "sluice_restore"} {
		for _, n := range []uint64{16<<10 + 1, 1 << 31, 1<<32 - 1} {
			if ret := g.Call(export, n); ret != -1 {
				t.Errorf("%s(%d) returned %d", export, int32(n), ret)
			}
		}
	}
	if ret := g.Call("sluice_admit", abi.MaxRows+1); ret != -1 {
		t.Errorf("with a row too many it returned %d", ret)
	}
}

func TestHooksThatAPolicyLacksFault(t *testing.T) {
	g := wasmtest.Compile(t, modules(t, guests)(t, "panics")).Start(t)
	if g.Hooks() != sluice.HookAdmit {
		t.Errorf("it declares the hooks %b", g.Hooks())
	}
	for _, export := range []string{"sluice_prioritize", "sluice_speculate", "sluice_events", "sluice_configure", "sluice_restore"} {
		if ret := g.Call(export, 0); ret != -1 {
			t.Errorf("%s returned %d", export, ret)
		}
	}
	if cap, saved := g.Call("sluice_batch_cap"), g.Call("sluice_save"); cap != -1 || saved != 0 {
		t.Errorf("sluice_batch_cap returned %d and sluice_save %d", cap, saved)
	}
}

// A policy may use std. What it allocates it frees, and then its memory does not grow; when it panics, it says why.
func TestPoliciesMayUseStd(t *testing.T) {
	wasm := modules(t, guests, "--features", "std")(t, "allocates")
	wasmtest.Flat(t, wasmtest.Compile(t, wasm).Start(t), 20_000)
	var said strings.Builder
	panics(t, load(t, &said, wasm), 77)
	if !strings.Contains(said.String(), "panic: ") || !strings.Contains(said.String(), "seventy-seven is one too many") {
		t.Errorf("of its panic it says %q", said.String())
	}
}

// panics has a policy judge a request while so many wait.
func panics(t *testing.T, host *plugins.Host, waiting uint32) {
	t.Helper()
	now := int64(waiting) * sluice.Second
	set, _, _ := host.Swap(now)
	set.Admit(&abi.State{Size: abi.StateSize, NowNS: now, WaitingRequests: waiting}, []abi.Row{{ID: 1}}, make([]abi.Verdict, 1), make([]abi.PolicyID, 1))
	if n := host.List()[0].Calls[0].Fallbacks["trap"]; n == 0 {
		t.Errorf("%d waiting: counted %+v", waiting, host.List()[0].Calls)
	}
}

// A policy that panics costs one decision, and the host knows why: on every release of Rust in other words.
func TestAPanicIsATrapWithItsReason(t *testing.T) {
	wasm := modules(t, guests)(t, "panics")
	var said strings.Builder
	host := load(t, &said, wasm)
	for waiting, words := range map[uint32][]string{
		77: {"seventy-seven is one too many for a line"},
		78: {"index out of bounds: the len is 4 but the index is 78"},
		79: {"called `Option::unwrap()` on a `None` value"},
		80: {"a number that is not negative", "TryFromIntError"},
	} {
		said.Reset()
		panics(t, host, waiting)
		for _, w := range append(words, "panic: ", "examples/panics.rs:") {
			if !strings.Contains(said.String(), w) {
				t.Errorf("%d waiting: nothing says %q:\n%s", waiting, w, said.String())
			}
		}
	}
}

func load(t *testing.T, said *strings.Builder, wasm []byte) *plugins.Host {
	t.Helper()
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	events := func(e plugins.Event) {
		if e.Kind == plugins.EventFault {
			said.WriteString(e.Err.Error())
		}
	}
	host := plugins.New(rt, plugins.Options{Inline: true, FaultLimit: 100, Log: slog.New(slog.DiscardHandler), OnEvent: events})
	t.Cleanup(func() { host.Close() })
	if err := host.Push(context.Background(), "p", wasm, nil); err != nil {
		t.Fatal(err)
	}
	return host
}
