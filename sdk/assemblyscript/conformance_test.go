package assemblyscript_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
	"github.com/sluice-dev/sluice/policies/wasmtest"
	"github.com/sluice-dev/sluice/sdk/conformance"
)

// installed is how a test says that it needs the compiler.
func installed(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/.bin/asc"); err != nil {
		conformance.Missing(t, "the AssemblyScript compiler is not installed")
	}
}

// build compiles a source as a user would.
func build(t *testing.T, source string) []byte {
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
			conformance.Compare(t, m.Name, m.Wasm, build(t, "examples/"+m.Name+".ts"))
		})
	}
}

// A policy with every hook answers what the same one in Go does, to the byte.
func TestEveryHookIsTheGoSDKs(t *testing.T) {
	settings := conformance.Settings{
		Taken:   []map[string]string{{}, {"limit": "20s"}},
		Refused: []map[string]string{{"limit": "soon"}, {"limits": "2s"}, {"why": "x"}, {"why": "x", "é\n\"\\": "\u2028"}},
	}
	conformance.CompareWith(t, "everything", settings, wasmtest.Build(t, "./sdk/go/testdata/everything"), build(t, "tests/assembly/everything.ts"))
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
	if a, b := build(t, "examples/queue-age.ts"), build(t, "examples/queue-age.ts"); !bytes.Equal(a, b) {
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
