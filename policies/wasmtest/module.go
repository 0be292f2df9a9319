package wasmtest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/sluice-dev/sluice/policies/internal/shipped"
	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// Shipped reads a policy that ships, and fails the test when it was not built from the present sources.
func Shipped(t testing.TB, name string) []byte {
	t.Helper()
	root := root(t)
	stale, err := shipped.Stale(root)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(stale, name) {
		t.Fatalf("policies/%s/%s.wasm is stale: go run ./policies/build", name, name)
	}
	return read(t, shipped.Module(root, name))
}

// Build builds the policy in a package of this repository, relative to its root, as a user would. more are further
// arguments of `go build`.
func Build(t testing.TB, pkg string, more ...string) []byte {
	t.Helper()
	readSources(t, "sdk/go", pkg)
	out := filepath.Join(t.TempDir(), "policy.wasm")
	if err := shipped.Build(context.Background(), root(t), pkg, out, more...); err != nil {
		t.Fatal(err)
	}
	return read(t, out)
}

// readSources has `go test` note what a module is built from: files that it did not see the test open may change without its
// running the test again, and those of another platform are not in the test itself.
func readSources(t testing.TB, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(root(t), dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			read(t, f)
		}
	}
}

func root(t testing.TB) string {
	t.Helper()
	root, err := shipped.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Module is a compiled policy that can be started many times.
type Module struct {
	rt       wazero.Runtime
	compiled wazero.CompiledModule
}

// Compile compiles a policy. It is freed when the test ends.
func Compile(t testing.TB, wasm []byte) *Module {
	t.Helper()
	ctx := context.Background()
	m := &Module{rt: wazero.NewRuntime(ctx)}
	t.Cleanup(func() { m.rt.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, m.rt)
	_, err := m.rt.NewHostModuleBuilder("sluice").
		NewFunctionBuilder().WithFunc(hostLog).Export("log").
		NewFunctionBuilder().WithFunc(func(int32, int64) {}).Export("metric").
		Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if m.compiled, err = m.rt.CompileModule(ctx, wasm); err != nil {
		t.Fatalf("compile the policy: %v", err)
	}
	return m
}

// Imports lists what the module wants from the host, as module.name, sorted.
func (m *Module) Imports() (names []string) {
	for _, f := range m.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		names = append(names, module+"."+name)
	}
	slices.Sort(names)
	return names
}

// Start starts an instance that is not yet configured. It is closed when the test ends, or by Close.
func (m *Module) Start(t testing.TB) *Guest {
	t.Helper()
	g := &Guest{t: t}
	g.ctx = context.WithValue(context.Background(), guestKey{}, g)
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")
	var err error
	if g.mod, err = m.rt.InstantiateModule(g.ctx, m.compiled, cfg); err != nil {
		t.Fatalf("start the policy: %v", err)
	}
	t.Cleanup(g.Close)
	d := make([]sluice.Descriptor, 1)
	g.read(uint32(g.Call("sluice_abi_v1")), bytesOf(d))
	g.Descriptor = d[0]
	return g
}

type guestKey struct{}

func hostLog(ctx context.Context, mod api.Module, _ int32, ptr, size uint32) {
	g := ctx.Value(guestKey{}).(*Guest)
	line, ok := mod.Memory().Read(ptr, size)
	if !ok {
		g.t.Errorf("the policy logs %d bytes at %d, which are outside its memory", size, ptr)
		return
	}
	g.logs = append(g.logs, string(line))
}
