// Package c_test builds the C SDK's examples with clang and checks them against the policies in Go, and runs the SDK's own tests.
package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases/casestest"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/policies"
	"github.com/sluice-dev/sluice/policies/wasmtest"
	"github.com/sluice-dev/sluice/sdk/conformance"
)

// run runs make on a copy of the SDK, and returns the folder.
func run(t testing.TB, needs string, target ...string) string {
	t.Helper()
	if _, err := exec.LookPath(needs); err != nil {
		conformance.Missing(t, needs+" is not installed")
	}
	dir := t.TempDir()
	for _, from := range []string{"c", "vectors"} {
		if err := os.CopyFS(filepath.Join(dir, from), os.DirFS("../"+from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "c", "build")); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "c")
	build(t, dir, target...)
	return dir
}

func build(t testing.TB, dir string, target ...string) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-s", "-C", dir}, target...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, text)
	}
}

// Natively, with the sanitizers where the compiler has them.
func TestNative(t *testing.T) {
	run(t, "cc", "test")
}

// maxModule is what a policy in C may have at most: none has a runtime in it.
const maxModule = 10 << 10

// The examples decide what the policies in Go decide.
func TestExamplesDecideTheSame(t *testing.T) {
	dir := run(t, "clang", "all")
	for _, m := range policies.Shipped() {
		t.Run(m.Name, func(t *testing.T) {
			wasm, err := os.ReadFile(filepath.Join(dir, "build", m.Name+".wasm"))
			if err != nil {
				t.Fatal(err)
			}
			if len(wasm) > maxModule {
				t.Errorf("%d bytes, more than %d", len(wasm), maxModule)
			}
			conformance.Compare(t, m.Name, m.Wasm, wasm)
			casestest.Shipped(t, m.Name, wasm)
			testDescriptor(t, wasm, m.Wasm)
		})
	}
}

// A module in C declares what the one in Go declares, except that it takes no more of a row than it reads, and it imports
// nothing but what it uses.
func testDescriptor(t *testing.T, wasm, goes []byte) {
	m := wasmtest.Compile(t, wasm)
	d, want := m.Start(t).Descriptor, wasmtest.Compile(t, goes).Start(t).Descriptor
	if d.Hooks != want.Hooks || d.Reads != want.Reads || d.Minor != want.Minor {
		t.Errorf("descriptor %+v, and in Go %+v", d, want)
	}
	if stride := abi.RowBytes(abi.Group(d.Reads)); d.RowStride != stride {
		t.Errorf("row_stride is %d, and what it reads ends at %d", d.RowStride, stride)
	}
	for _, name := range m.Imports() {
		if name != "sluice.log" {
			t.Errorf("it imports %s", name)
		}
	}
}

// Whatever bytes it is given in place of settings, a module in C says what one in Go says.
func FuzzSettings(f *testing.F) {
	dir := run(f, "clang", "build/tpot-cap.wasm")
	wasm, err := os.ReadFile(filepath.Join(dir, "build", "tpot-cap.wasm"))
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{`{}`, `{"tpot":"1h1m1.5s","band":"9.1%"}`, `{"a\u00e9\ud83d\ude00":"\\"}`, "{\"\xff\":\"", `{"floor":"5","ceiling":"4","x":"y"}`} {
		f.Add([]byte(text))
	}
	guest := wasmtest.Compile(f, wasm)
	want := wasmtest.Compile(f, wasmtest.Shipped(f, "tpot-cap")).Start(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 16<<10 {
			return
		}
		got := guest.Start(t)
		a, b := want.ConfigureText(text), got.ConfigureText(text)
		if (a == nil) != (b == nil) || a != nil && a.Error() != b.Error() {
			t.Errorf("it says %v, and should say %v", b, a)
		}
	})
}
