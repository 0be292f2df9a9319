package meter

import (
	"context"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// tb is what the helpers need of a test, a property and a benchmark.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// testLimits keep the tests' modules small. Runtimes get the same page limit, so that the original sees it too.
func testLimits() Limits {
	l := DefaultLimits()
	l.MaxMemoryPages = 32
	return l
}

// engines gives a compiling and an interpreting runtime.
func engines(t testing.TB) map[string]wazero.Runtime {
	out := map[string]wazero.Runtime{}
	for name, cfg := range map[string]wazero.RuntimeConfig{
		"compiler":    wazero.NewRuntimeConfigCompiler(),
		"interpreter": wazero.NewRuntimeConfigInterpreter(),
	} {
		out[name] = newRuntime(t, cfg)
	}
	return out
}

func newRuntime(t testing.TB, cfg wazero.RuntimeConfig) wazero.Runtime {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, cfg.WithMemoryLimitPages(testLimits().MaxMemoryPages))
	t.Cleanup(func() { rt.Close(ctx) })
	return rt
}

func rewrite(t tb, wasm []byte) *Module {
	t.Helper()
	m, err := Rewrite(wasm, testLimits())
	if err != nil {
		t.Fatalf("rewrite: %v\n%x", err, wasm)
	}
	return m
}

// compile validates too.
func compile(t tb, rt wazero.Runtime, wasm []byte) wazero.CompiledModule {
	t.Helper()
	c, err := rt.CompileModule(context.Background(), wasm)
	if err != nil {
		t.Fatalf("compile: %v\n%x", err, wasm)
	}
	return c
}

func instantiate(t tb, rt wazero.Runtime, c wazero.CompiledModule) api.Module {
	t.Helper()
	mod, err := rt.InstantiateModule(context.Background(), c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatalf("instantiate: %v", err)
	}
	return mod
}

func fuelOf(mod api.Module) api.MutableGlobal {
	return mod.ExportedGlobal(FuelExport).(api.MutableGlobal)
}

// outcome is all that a caller could see of one call.
type outcome struct {
	results string
	trap    string
	memory  [32]byte
	globals string
}

// call runs an export and closes nothing.
func call(mod api.Module, export string, args ...uint64) (o outcome) {
	res, err := mod.ExportedFunction(export).Call(context.Background(), args...)
	if err != nil {
		o.trap, _, _ = strings.Cut(err.Error(), "\n")
	}
	var b strings.Builder
	for _, r := range res {
		b.WriteString(" " + hex(r))
	}
	o.results = b.String()
	if mod.ExportedMemoryDefinitions()["memory"] != nil {
		m := mod.Memory()
		view, _ := m.Read(0, m.Size())
		o.memory = sha256.Sum256(view)
	}
	b.Reset()
	for _, g := range []string{"g0", "g1", "g2"} {
		if v := mod.ExportedGlobal(g); v != nil {
			b.WriteString(" " + hex(v.Get()))
		}
	}
	o.globals = b.String()
	return o
}

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 16)
	for i := range out {
		out[15-i] = digits[v>>(4*i)&15]
	}
	return string(out)
}

// metered runs an export of a compiled, rewritten module in a fresh instance, and returns what is left of the budget.
func metered(t tb, rt wazero.Runtime, c wazero.CompiledModule, budget int64, export string, args ...uint64) (outcome, int64) {
	t.Helper()
	mod := instantiate(t, rt, c)
	defer mod.Close(context.Background())
	fuel := fuelOf(mod)
	fuel.Set(uint64(budget))
	o := call(mod, export, args...)
	return o, int64(fuel.Get())
}

// bare runs an export of a compiled original in a fresh instance.
func bare(t tb, rt wazero.Runtime, c wazero.CompiledModule, export string, args ...uint64) outcome {
	t.Helper()
	mod := instantiate(t, rt, c)
	defer mod.Close(context.Background())
	return call(mod, export, args...)
}
