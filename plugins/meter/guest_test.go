package meter

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

const guestSource = `package main

import "sort"

var kept [][]int64

//go:wasmexport rank
func rank(n int32) int64 {
	scores := make([]int64, n)
	for i := range scores {
		scores[i] = int64(i*7919%1009) - 500
	}
	sort.Slice(scores, func(a, b int) bool { return scores[a] < scores[b] })
	return scores[n/2]
}

//go:wasmexport decide
func decide(a, b int32) int32 { return a*3 - b }

//go:wasmexport spin
func spin() {
	for {
		kept = nil
	}
}

//go:wasmexport hoard
func hoard() {
	for {
		kept = append(kept, make([]int64, 1<<16))
	}
}

//go:wasmexport recurse
func recurse(n int32) int32 { return recurse(n+1) + 1 }

func main() {}
`

// goGuest builds a policy as a user would, with the ordinary Go toolchain.
func goGuest(t testing.TB) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a Go guest: not in short mode")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to build a guest with")
	}
	dir := t.TempDir()
	for file, text := range map[string]string{"main.go": guestSource, "go.mod": "module guest\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", "guest.wasm", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(filepath.Join(dir, "guest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// goRuntime has WASI. Its clock and randomness are wazero's defaults, which are the same in every instance.
func goRuntime(t testing.TB) wazero.Runtime {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(DefaultLimits().MaxMemoryPages))
	t.Cleanup(func() { rt.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	return rt
}

// started gives an instance whose _initialize has run, and what that spent.
func started(t testing.TB, rt wazero.Runtime, c wazero.CompiledModule) (mod api.Module, spent int64) {
	t.Helper()
	mod = instantiate(t, rt, c)
	fuel := fuelOf(mod)
	budget := int64(fuel.Get())
	if o := call(mod, "_initialize"); o.trap != "" {
		t.Fatalf("start: %s, %d of %d units left", o.trap, int64(fuel.Get()), budget)
	}
	return mod, budget - int64(fuel.Get())
}

func TestGoGuest(t *testing.T) {
	wasm := goGuest(t)
	m, err := Rewrite(wasm, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	rt := goRuntime(t)
	original, rewritten := compile(t, rt, wasm), compile(t, rt, m.Code)

	mod, spent := started(t, rt, rewritten)
	_, again := started(t, rt, rewritten)
	t.Logf("%d bytes become %d; the guest's start spends %d units; it has %d pages", len(wasm), len(m.Code), spent, mod.Memory().Size()>>16)
	if spent != again {
		t.Errorf("the start spends %d, and then %d", spent, again)
	}
	if o, left := metered(t, rt, rewritten, spent-1, "_initialize"); o.trap == "" || left >= 0 {
		t.Errorf("the start with a unit too few: trap %q, %d left", o.trap, left)
	}

	bareMod := instantiate(t, rt, original)
	call(bareMod, "_initialize")
	fuel := fuelOf(mod)
	for _, n := range []uint64{1, 100, 256} {
		fuel.Set(plenty)
		got, want := call(mod, "rank", n), call(bareMod, "rank", n)
		t.Logf("rank of %d spends %d units", n, plenty-int64(fuel.Get()))
		if got.results != want.results || got.trap != "" {
			t.Errorf("rank of %d: %q %s, unmetered %s", n, got.trap, got.results, want.results)
		}
	}
	for _, fn := range []string{"spin", "hoard", "recurse"} {
		mod, _ := started(t, rt, rewritten)
		args := make([]uint64, len(rewritten.ExportedFunctions()[fn].ParamTypes()))
		fuelOf(mod).Set(1_000_000)
		if o := call(mod, fn, args...); o.trap != unreachableTrap || int64(fuelOf(mod).Get()) >= 0 {
			t.Errorf("%s: trap %q, %d left", fn, o.trap, int64(fuelOf(mod).Get()))
		}
	}
}

func BenchmarkRewrite(b *testing.B) {
	wasm := goGuest(b)
	b.SetBytes(int64(len(wasm)))
	for b.Loop() {
		if _, err := Rewrite(wasm, DefaultLimits()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall compares a call of the Go guest, metered and not: of a function that does nothing much, and of a sort.
func BenchmarkCall(b *testing.B) {
	wasm := goGuest(b)
	m, err := Rewrite(wasm, DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	rt := goRuntime(b)
	plain := instantiate(b, rt, compile(b, rt, wasm))
	call(plain, "_initialize")
	metered, _ := started(b, rt, compile(b, rt, m.Code))
	for _, c := range []struct {
		name, fn string
		args     []uint64
	}{{"decide", "decide", []uint64{5, 3}}, {"rank256", "rank", []uint64{256}}} {
		b.Run(c.name+"/unmetered", func(b *testing.B) { benchmarkCall(b, plain, nil, c.fn, c.args) })
		b.Run(c.name+"/metered", func(b *testing.B) { benchmarkCall(b, metered, fuelOf(metered), c.fn, c.args) })
	}
}

func benchmarkCall(b *testing.B, mod api.Module, fuel api.MutableGlobal, fn string, args []uint64) {
	f := mod.ExportedFunction(fn)
	ctx := context.Background()
	stack := make([]uint64, 2)
	b.ReportAllocs()
	for b.Loop() {
		if fuel != nil {
			fuel.Set(plenty)
		}
		copy(stack, args)
		if err := f.CallWithStack(ctx, stack); err != nil {
			b.Fatal(err)
		}
	}
}
