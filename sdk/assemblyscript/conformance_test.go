// Package assemblyscript_test builds the AssemblyScript SDK's examples, checks them against the policies in Go, and runs the SDK's
// own tests.
package assemblyscript_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

// installed is how a test says that it needs the compiler.
func installed(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/.bin/asc"); err != nil {
		conformance.Missing(t, "the AssemblyScript compiler is not installed")
	}
}

// built keeps modules by their sources: each is compiled once.
var built = map[string][]byte{}

func build(t *testing.T, source string) []byte {
	t.Helper()
	if built[source] == nil {
		built[source] = compile(t, source)
	}
	return built[source]
}

// compile compiles a source as a user would.
func compile(t *testing.T, source string) []byte {
	t.Helper()
	installed(t)
	out := filepath.Join(t.TempDir(), "policy.wasm")
	if said, err := exec.Command("node_modules/.bin/asc", source, "--config", "asconfig.json", "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, said)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// The examples decide what the policies that ship decide, in Go.
func TestExamplesAreTheShippedPolicies(t *testing.T) {
	for _, m := range policies.Shipped() {
		t.Run(m.Name, func(t *testing.T) {
			wasm := build(t, "examples/"+m.Name+".ts")
			conformance.Compare(t, m.Name, m.Wasm, wasm)
			casestest.Shipped(t, m.Name, wasm)
			testDescriptor(t, wasm, m.Wasm)
		})
	}
}

// A module declares what the one in Go declares, except that it takes no more of a row than it reads, and it imports nothing
// but what it uses.
func testDescriptor(t *testing.T, wasm, goes []byte) {
	t.Helper()
	m := wasmtest.Compile(t, wasm)
	d, want := m.Start(t).Descriptor, wasmtest.Compile(t, goes).Start(t).Descriptor
	if d.Hooks != want.Hooks || d.Reads != want.Reads || d.Minor != want.Minor {
		t.Errorf("descriptor %+v, and in Go %+v", d, want)
	}
	if stride := abi.RowBytes(abi.Group(d.Reads)); d.RowStride != stride {
		t.Errorf("row_stride is %d, and what it reads ends at %d", d.RowStride, stride)
	}
	if names := m.Imports(); !slices.Equal(names, []string{"sluice.log"}) {
		t.Errorf("it imports %q", names)
	}
}

// A policy with every hook answers what the same one in Go does, to the byte, whatever it is shown.
func TestEveryHookIsTheGoSDKs(t *testing.T) {
	want := wasmtest.Compile(t, wasmtest.Build(t, "./sdk/go/testdata/everything")).Start(t)
	got := wasmtest.Compile(t, build(t, "tests/assembly/everything.ts")).Start(t)
	rng := rand.NewChaCha8([32]byte{1})
	for range 500 {
		st, rows, events := make([]sluice.State, 1), make([]sluice.Row, rng.Uint64()%(sluice.MaxRows+1)), make([]sluice.Event, rng.Uint64()%20)
		for _, b := range [][]byte{abi.SliceBytes(st), abi.SliceBytes(rows), abi.SliceBytes(events)} {
			rng.Read(b) //nolint:errcheck // it never fails
		}
		for i := range rows { // or none would be in any phase
			rows[i].Phase %= 4
		}
		if a, b := answers(want, &st[0], rows, events), answers(got, &st[0], rows, events); a != b {
			t.Fatalf("on %d rows and %d events\nwant %s\ngot  %s", len(rows), len(events), a, b)
		}
	}
}

// answers is all that a policy says to a state.
func answers(g *wasmtest.Guest, st *sluice.State, rows []sluice.Row, events []sluice.Event) string {
	g.Events(st, events...)
	ranks, ranked := g.Prioritize(st, rows...)
	batch, capped := g.BatchCap(st)
	spec, k, drafts := g.Speculate(st, rows...)
	return fmt.Sprint(g.Admit(st, rows...), ranks, ranked, batch, capped, spec, k, drafts, g.Save(), g.Logs())
}

// A policy never frees memory, and needs not: its hooks take none.
func TestMemoryStaysFlat(t *testing.T) {
	calls := 1_000_000
	if testing.Short() {
		calls = 200_000
	}
	sources := []string{"tests/assembly/everything.ts"}
	for _, m := range policies.Shipped() {
		sources = append(sources, "examples/"+m.Name+".ts")
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			g := wasmtest.Compile(t, build(t, source)).Start(t)
			if err := g.Configure(nil); err != nil {
				t.Fatal(err)
			}
			wasmtest.Flat(t, g, calls)
		})
	}
}

// Whoever forgets a function in the export line reads which one at the push.
func TestAHookThatIsNotExportedIsNamed(t *testing.T) {
	err := load(t, build(t, "tests/assembly/forgotten.ts"))
	if want := "its descriptor declares the hook events and it exports no sluice_events"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, and not %s", err, want)
	}
}

// Whoever makes a mistake reads what and where at the push.
func TestAPanicAtTheStartIsShown(t *testing.T) {
	err := load(t, build(t, "tests/refused/twice.ts"))
	if want := "register was called twice"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, and not %s", err, want)
	}
}

func load(t *testing.T, wasm []byte) error {
	t.Helper()
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	host := plugins.New(rt, plugins.Options{Inline: true})
	defer host.Close()
	return host.Push(context.Background(), "mine", wasm, nil)
}

// One build is as good as another.
func TestBuildsAreReproducible(t *testing.T) {
	if a, b := build(t, "examples/queue-age.ts"), compile(t, "examples/queue-age.ts"); !bytes.Equal(a, b) {
		t.Errorf("two builds of one source have %d and %d bytes, and differ", len(a), len(b))
	}
}

// The tests that need no host.
func TestUnderNode(t *testing.T) {
	installed(t)
	files, err := filepath.Glob("tests/*.test.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests found: %v", err)
	}
	if said, err := exec.Command("node", append([]string{"--test"}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("node --test: %v\n%s", err, said)
	}
}
