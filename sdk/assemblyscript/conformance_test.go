package assemblyscript_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluice-dev/sluice/policies"
	"github.com/sluice-dev/sluice/policies/wasmtest"
	"github.com/sluice-dev/sluice/sdk/conformance"
)

// build compiles a source as a user would, and skips the test when the compiler is not installed.
func build(t *testing.T, source string) []byte {
	t.Helper()
	asc := filepath.Join("node_modules", ".bin", "asc")
	if _, err := os.Stat(asc); err != nil {
		t.Skip("the AssemblyScript compiler is not installed: run scripts/setup.sh")
	}
	out := filepath.Join(t.TempDir(), "policy.wasm")
	if said, err := exec.Command(asc, source, "--config", "asconfig.json", "-o", out).CombinedOutput(); err != nil {
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

// A policy never frees memory, and needs not: its hooks take none.
func TestMemoryStaysFlat(t *testing.T) {
	calls := 1_000_000
	if testing.Short() {
		calls = 200_000
	}
	for _, m := range policies.Shipped() {
		t.Run(m.Name, func(t *testing.T) {
			g := wasmtest.Compile(t, build(t, "examples/"+m.Name+".ts")).Start(t)
			if err := g.Configure(nil); err != nil {
				t.Fatal(err)
			}
			wasmtest.Flat(t, g, calls)
		})
	}
}

// One build is as good as another.
func TestBuildsAreReproducible(t *testing.T) {
	if a, b := build(t, "examples/queue-age.ts"), build(t, "examples/queue-age.ts"); !bytes.Equal(a, b) {
		t.Errorf("two builds of one source have %d and %d bytes, and differ", len(a), len(b))
	}
}
