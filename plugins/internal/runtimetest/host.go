package runtimetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

var (
	importLog    = []guesttest.Func{{Export: "sluice.log", Params: "iii"}}
	importMetric = []guesttest.Func{{Export: "sluice.metric", Params: "il"}}
)

// logs writes so many bytes from Free to the log, at level 1.
func logs(size int32) guesttest.Code {
	return guesttest.Seq(guesttest.I32(1), guesttest.I32(guesttest.Free), guesttest.I32(size), guesttest.Call(0))
}

func metricsArePassedOn(t *testing.T, with Maker) {
	i, e := start(t, open(t, with, ""), one(importMetric,
		guesttest.I32(3), guesttest.I64(-1<<40), guesttest.Call(0), guesttest.I32(-1), guesttest.I64(8), guesttest.Call(0), guesttest.I32(0)))
	if _, err := call(i); err != nil || len(e.metrics) != 2 || e.metrics[3] != -1<<40 || e.metrics[1<<32-1] != 8 {
		t.Errorf("got %v, %v", e.metrics, err)
	}
}

func aCallIntoTheHostHasItsPrice(t *testing.T, with Maker) {
	rt := open(t, with, "")
	const entry = 64
	for _, c := range []struct {
		name string
		wasm []byte
		want int64
		bad  int
	}{
		{"none", one(nil, guesttest.I32(0)), entry, 0},
		{"a line of 100 bytes", one(importLog, logs(100), guesttest.I32(0)), entry + plugins.HostCallFuel + 100*plugins.HostByteFuel, 0},
		{"an empty line", one(importLog, logs(0), guesttest.I32(0)), entry + plugins.HostCallFuel, 0},
		{"a line outside memory", one(importLog, logs(-1), guesttest.I32(0)), entry + plugins.HostCallFuel, 1},
		{"a metric", one(importMetric, guesttest.I32(3), guesttest.I64(1), guesttest.Call(0), guesttest.I32(0)), entry + plugins.HostCallFuel, 0},
		{"20 random bytes", one(wasi("random_get", "ii"), guesttest.I32(out), guesttest.I32(20), guesttest.Call(0)), entry + plugins.HostCallFuel + 20*plugins.HostByteFuel, 0},
		{"the clock", one(wasi("clock_time_get", "ili"), guesttest.I32(0), guesttest.I64(0), guesttest.I32(out), guesttest.Call(0)), entry + plugins.HostCallFuel, 0},
	} {
		i, e := start(t, rt, c.wasm)
		ample := plugins.Call{Entry: plugins.EntryAdmit, Fuel: 10_000}
		if err := i.Call(&ample); err != nil || ample.Used != c.want || e.bad != c.bad {
			t.Errorf("%s: burnt %d, %v, %d bad calls; want %d and %d", c.name, ample.Used, err, e.bad, c.want, c.bad)
		}
		scarce := plugins.Call{Entry: plugins.EntryAdmit, Fuel: c.want - 1}
		var trap *plugins.Trap
		if err := i.Call(&scarce); !errors.As(err, &trap) || !trap.OutOfFuel || trap.Cause != "out of fuel" || i.Fuel() != -1 {
			t.Errorf("%s, with a unit too few: %v, and %d left", c.name, err, i.Fuel())
		}
	}
}

func aStartFunctionCanCallTheHost(t *testing.T, with Maker) {
	rt := open(t, with, "")
	m := guesttest.Module{Imports: importLog, Data: "hello", Start: logs(5), Funcs: []guesttest.Func{guesttest.Admit(1)}}
	if _, e := start(t, rt, m.Bytes()); len(e.lines) != 1 || e.lines[0] != "hello" || e.levels[0] != 1 {
		t.Errorf("it logged %q at %v", e.lines, e.levels)
	}
	m.Start = guesttest.Loop(logs(5), guesttest.Br(0))
	mod, err := rt.Compile(context.Background(), metered(t, m.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	_, err = mod.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: &ear{}})
	var trap *plugins.Trap
	if !errors.As(err, &trap) || trap.Func != "start" || !trap.OutOfFuel {
		t.Errorf("an endless start that logs: %v, want it out of fuel", err)
	}
}

// fragile is a sink that fails.
type fragile struct{ ear }

func (*fragile) Log(int32, []byte, bool) { panic("the sink broke") }

func aSinkThatPanicsEndsTheGuest(t *testing.T, with Maker) {
	rt := open(t, with, "")
	m, err := rt.Compile(context.Background(), metered(t, one(importLog, logs(1), guesttest.I32(0))))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	i, err := m.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: &fragile{}})
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	_, err = call(i)
	var trap *plugins.Trap
	if !errors.As(err, &trap) || trap.Func != abi.ExportAdmit || trap.OutOfFuel || !strings.Contains(trap.Cause, "the sink broke") {
		t.Errorf("got %v", err)
	}
}
