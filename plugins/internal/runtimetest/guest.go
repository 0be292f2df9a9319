package runtimetest

import (
	"context"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// ear hears what a guest says.
type ear struct {
	lines     []string
	levels    []int32
	truncated int
	bad       int
	metrics   map[uint32]int64
}

func (e *ear) Log(level int32, line []byte, truncated bool) {
	e.lines, e.levels = append(e.lines, string(line)), append(e.levels, level)
	if truncated {
		e.truncated++
	}
}

func (e *ear) Metric(id uint32, v int64) {
	if e.metrics == nil {
		e.metrics = map[uint32]int64{}
	}
	e.metrics[id] = v
}

func (e *ear) BadCall() { e.bad++ }

// open makes a runtime that is closed with the test, with nothing of it left open.
func open(t testing.TB, with Maker, cacheDir string) Runtime {
	t.Helper()
	rt := with(t, cacheDir)
	t.Cleanup(func() {
		if modules, instances := rt.Live(); modules != 0 || instances != 0 {
			t.Errorf("%d modules and %d instances were left open", modules, instances)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

func metered(t testing.TB, wasm []byte) []byte {
	t.Helper()
	m, err := meter.Rewrite(wasm, meter.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return m.Code
}

// start makes an instance that is closed with the test.
func start(t testing.TB, rt Runtime, wasm []byte) (plugins.Instance, *ear) {
	t.Helper()
	m, err := rt.Compile(context.Background(), metered(t, wasm))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	e := &ear{}
	i, err := m.Instantiate(context.Background(), plugins.Env{Now: 1, Seed: 7, Sink: e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i, e
}

// one makes a policy whose admit hook is the code, with the imports before it.
func one(imports []guesttest.Func, code ...guesttest.Code) []byte {
	return guesttest.Module{Imports: imports, Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit, code...)}}.Bytes()
}

func wasi(name, params string) []guesttest.Func {
	return []guesttest.Func{{Export: "wasi_snapshot_preview1." + name, Params: params, Results: "i"}}
}

// call calls admit with plenty of fuel.
func call(i plugins.Instance) (int64, error) {
	c := plugins.Call{Entry: plugins.EntryAdmit, Arg: 1, Fuel: 1_000_000, Now: 42, Seed: 9}
	err := i.Call(&c)
	return c.Ret, err
}
