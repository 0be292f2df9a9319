package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/meter"
)

func aCallCopiesInCallsAndShowsTheOutput(t *testing.T, with Maker) {
	// It returns its argument plus the byte that came in, and writes that byte to the output.
	i, _ := start(t, open(t, with, ""), one(nil,
		guesttest.I32(guesttest.OutPtr), guesttest.I32(guesttest.Free), guesttest.Load8(0), guesttest.Store8(0),
		guesttest.Get(0), guesttest.I32(guesttest.Free), guesttest.Load8(0), guesttest.Add32))
	c := plugins.Call{Entry: plugins.EntryAdmit, Arg: 100, Fuel: 1000, Out: plugins.Region{Ptr: guesttest.OutPtr, Len: 4}}
	c.In[0] = plugins.Segment{Ptr: guesttest.Free, Data: []byte{1, 2}}
	c.In[2] = plugins.Segment{Ptr: guesttest.Free, Data: []byte{5}} // in order: it overwrites
	if err := i.Call(&c); err != nil || c.Ret != 105 || !bytes.Equal(c.View, []byte{5, 0, 0, 0}) {
		t.Errorf("returned %d, %v, output %v", c.Ret, err, c.View)
	}
	if c.Used < 64 || c.Used > 200 {
		t.Errorf("burnt %d units", c.Used)
	}
	first := c.Used
	if err := i.Call(&c); err != nil || c.Used != first {
		t.Errorf("the same call burnt %d and then %d units: %v", first, c.Used, err)
	}
}

func oldOutputIsClearedBeforeACall(t *testing.T, with Maker) {
	i, _ := start(t, open(t, with, ""), one(nil, // writes only when its argument is 1
		guesttest.Get(0), guesttest.If(guesttest.Put32(guesttest.OutPtr, 99)), guesttest.I32(0)))
	c := plugins.Call{Entry: plugins.EntryAdmit, Arg: 1, Fuel: 1000, Out: plugins.Region{Ptr: guesttest.OutPtr, Len: 4}}
	if err := i.Call(&c); err != nil || c.View[0] != 99 {
		t.Fatalf("output %v, %v", c.View, err)
	}
	c.Arg = 0
	if err := i.Call(&c); err != nil || c.View[0] != 0 {
		t.Errorf("output %v, %v; want the last call's gone", c.View, err)
	}
}

func memoryStaysWhereItIsWhileItGrows(t *testing.T, with Maker) {
	i, _ := start(t, open(t, with, ""), one(nil, guesttest.I32(3), guesttest.Grow))
	before, _ := i.Read(guesttest.Free, 1)
	if ret, err := call(i); err != nil || ret != 2 {
		t.Fatalf("memory.grow answered %d, %v", ret, err)
	}
	after, _ := i.Read(guesttest.Free, 1)
	if &before[0] != &after[0] {
		t.Error("the memory moved")
	}
	if _, ok := i.Read(5<<16-1, 1); !ok {
		t.Error("the grown memory cannot be read")
	}
	if _, ok := i.Read(5<<16, 1); ok {
		t.Error("memory beyond the grown can be read")
	}
}

func aReactorIsInitialisedOnce(t *testing.T, with Maker) {
	count := guesttest.Seq(guesttest.I32(guesttest.Free), guesttest.I32(guesttest.Free), guesttest.Load32(0), guesttest.I32(1), guesttest.Add32, guesttest.Store32(0))
	m := guesttest.Module{Start: count, Funcs: []guesttest.Func{
		{Export: "_initialize", Code: count},
		{Export: "_start", Code: guesttest.Unreachable},
		guesttest.Hook(abi.ExportAdmit, guesttest.I32(guesttest.Free), guesttest.Load32(0)),
	}}
	i, _ := start(t, open(t, with, ""), m.Bytes())
	if ret, err := call(i); ret != 2 || err != nil {
		t.Errorf("start and _initialize ran %d times, %v; want once each, and _start never", ret, err)
	}
}

func aDeadContextStopsAnInstantiationNotAGuest(t *testing.T, with Maker) {
	rt := open(t, with, "")
	m, err := rt.Compile(context.Background(), metered(t, guesttest.Admitter(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Instantiate(ctx, plugins.Env{Now: 1, Sink: &ear{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it cancelled", err)
	}
}

func compileReportsWhatItCannotLink(t *testing.T, with Maker) {
	rt := open(t, with, "")
	if err := rt.Validate(context.Background(), []byte("\x00asm\x01\x00\x00\x00\xff")); err == nil {
		t.Error("a broken module is valid")
	}
	if _, ok := rt.Import(plugins.WASIModule, "path_open"); ok {
		t.Error("files are served")
	}
	if s, ok := rt.Import("sluice", "log"); !ok || s != "(i32, i32, i32) -> " {
		t.Errorf("sluice.log is %q, %v", s, ok)
	}
}

func rowsAreLaidOutInTheGuestsStride(t *testing.T, with Maker) {
	i, _ := start(t, open(t, with, ""), guesttest.Admitter(1))
	c := plugins.Call{Entry: plugins.EntryAdmit, Fuel: 10_000}
	c.In[0] = plugins.Segment{Ptr: guesttest.RowsPtr, Data: []byte{1, 2, 3, 4, 5, 6}, From: 3, To: 2}
	c.In[1] = plugins.Segment{Ptr: guesttest.StatePtr, Data: []byte{1, 2, 3, 4}, From: 2, To: 3}
	if err := i.Call(&c); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[uint32][]byte{guesttest.RowsPtr: {1, 2, 4, 5, 0}, guesttest.StatePtr: {1, 2, 0, 3, 4, 0}} {
		if got, _ := i.Read(at, uint32(len(want))); !bytes.Equal(got, want) {
			t.Errorf("at %d stands %v, want %v", at, got, want)
		}
	}
}

func aResultHasItsWholeWidth(t *testing.T, with Maker) {
	i, _ := start(t, open(t, with, ""), guesttest.Policy(
		guesttest.Hook(abi.ExportSave, guesttest.I64(-1<<40|7)), guesttest.Hook(abi.ExportAdmit, guesttest.I32(-5))))
	for entry, want := range map[plugins.Entry]int64{plugins.EntrySave: -1<<40 | 7, plugins.EntryAdmit: -5} {
		c := plugins.Call{Entry: entry, Fuel: 10_000}
		if err := i.Call(&c); err != nil || c.Ret != want {
			t.Errorf("%s returned %d, %v, want %d", entry, c.Ret, err, want)
		}
	}
}

func whatIsNotExportedCannotBeCalled(t *testing.T, with Maker) {
	i, _ := start(t, open(t, with, ""), guesttest.Admitter(1))
	err := i.Call(&plugins.Call{Entry: plugins.EntryRestore, Fuel: 10_000})
	var trap *plugins.Trap
	if !errors.As(err, &trap) || trap.Func != abi.ExportRestore || trap.Cause != "it is not exported" {
		t.Errorf("got %v", err)
	}
}

func memoryGrowsNoFurtherThanItsMaximum(t *testing.T, with Maker) {
	m := guesttest.Module{MaxPages: 4, Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit, guesttest.Get(0), guesttest.Grow)}}
	i, _ := start(t, open(t, with, ""), m.Bytes())
	const page = 65536
	for _, c := range []struct {
		pages uint32
		want  int64
		size  uint32
	}{{3, -1, 2 * page}, {2, 2, 4 * page}, {1, -1, 4 * page}, {0, 4, 4 * page}} {
		call := plugins.Call{Entry: plugins.EntryAdmit, Arg: c.pages, Fuel: 1_000_000}
		if err := i.Call(&call); err != nil || call.Ret != c.want || i.Size() != c.size {
			t.Errorf("growing by %d answered %d, %v, and the memory has %d bytes; want %d and %d", c.pages, call.Ret, err, i.Size(), c.want, c.size)
		}
	}
}

func fuelIsSetByEachCallAndKeptAfterTheStart(t *testing.T, with Maker) {
	m := guesttest.Module{Start: guesttest.Put32(guesttest.Free, 1), Funcs: []guesttest.Func{
		{Export: "_initialize", Code: guesttest.Put32(guesttest.Free, 2)}, guesttest.Admit(1)}}
	i, _ := start(t, open(t, with, ""), m.Bytes())
	const entry = 64 // what a short function costs
	if left := meter.DefaultLimits().StartFuel - 2*entry; i.Fuel() != left {
		t.Errorf("%d units are left after the start, want %d", i.Fuel(), left)
	}
	c := plugins.Call{Entry: plugins.EntryMarker, Fuel: 1000}
	for range 2 {
		if err := i.Call(&c); err != nil || c.Used != entry || i.Fuel() != 1000-entry {
			t.Errorf("the marker burnt %d, %v, and left %d", c.Used, err, i.Fuel())
		}
	}
	c.Fuel = entry - 1
	var trap *plugins.Trap
	if err := i.Call(&c); !errors.As(err, &trap) || !trap.OutOfFuel || c.Used != entry || i.Fuel() != -1 {
		t.Errorf("with a unit too few: %v, %d burnt, %d left", err, c.Used, i.Fuel())
	}
}
