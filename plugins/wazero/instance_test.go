package wazero_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

func TestACallCopiesInCallsAndShowsTheOutput(t *testing.T) {
	// It returns its argument plus the byte that came in, and writes that byte to the output.
	i, _ := start(t, runtime(t, wazero.Options{}), one(nil,
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

func TestOldOutputIsClearedBeforeACall(t *testing.T) {
	i, _ := start(t, runtime(t, wazero.Options{}), one(nil, // writes only when its argument is 1
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

func TestATrapNamesTheFunctionsOfTheGuestsStack(t *testing.T) {
	m := guesttest.Module{Named: true, Funcs: []guesttest.Func{
		{Export: "inner", Code: guesttest.Unreachable},
		guesttest.Hook(abi.ExportAdmit, guesttest.Call(0), guesttest.I32(0)),
	}}
	i, _ := start(t, runtime(t, wazero.Options{}), m.Bytes())
	_, err := call(i)
	var trap *plugins.Trap
	if !errors.As(err, &trap) || trap.OutOfFuel || trap.Cause != "unreachable" || trap.Func != abi.ExportAdmit {
		t.Fatalf("got %#v", err)
	}
	if len(trap.Stack) != 2 || !strings.HasPrefix(trap.Stack[0], "$inner") || !strings.HasPrefix(trap.Stack[1], "$sluice_admit") {
		t.Errorf("stack %q, want inner called by sluice_admit", trap.Stack)
	}
}

func TestAnEndlessLoopAndEndlessRecursionRunOutOfFuel(t *testing.T) {
	for name, code := range map[string]guesttest.Code{
		"loop":      guesttest.Seq(guesttest.Forever(), guesttest.I32(0)),
		"recursion": guesttest.Seq(guesttest.Get(0), guesttest.Call(0)),
	} {
		i, _ := start(t, runtime(t, wazero.Options{}), one(nil, code))
		_, err := call(i)
		var trap *plugins.Trap
		if !errors.As(err, &trap) || !trap.OutOfFuel {
			t.Errorf("%s: %v, want it out of fuel", name, err)
		}
	}
}

func TestMemoryStaysWhereItIsWhileItGrows(t *testing.T) {
	i, _ := start(t, runtime(t, wazero.Options{}), one(nil, guesttest.I32(3), guesttest.Grow))
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

func TestAReactorIsInitialisedOnce(t *testing.T) {
	count := guesttest.Seq(guesttest.I32(guesttest.Free), guesttest.I32(guesttest.Free), guesttest.Load32(0), guesttest.I32(1), guesttest.Add32, guesttest.Store32(0))
	m := guesttest.Module{Start: count, Funcs: []guesttest.Func{
		{Export: "_initialize", Code: count},
		{Export: "_start", Code: guesttest.Unreachable},
		guesttest.Hook(abi.ExportAdmit, guesttest.I32(guesttest.Free), guesttest.Load32(0)),
	}}
	i, _ := start(t, runtime(t, wazero.Options{}), m.Bytes())
	if ret, err := call(i); ret != 2 || err != nil {
		t.Errorf("start and _initialize ran %d times, %v; want once each, and _start never", ret, err)
	}
}

func TestCompiledCodeIsKeptOnDiskAndABrokenCacheIsNoObstacle(t *testing.T) {
	dir := t.TempDir()
	wasm := guesttest.Admitter(1)
	use := func() {
		t.Helper()
		i, _ := start(t, runtime(t, wazero.Options{CacheDir: dir}), wasm)
		if _, err := call(i); err != nil {
			t.Fatal(err)
		}
	}
	use()
	files := cached(t, dir)
	if len(files) == 0 {
		t.Fatal("nothing was kept")
	}
	use()
	for _, f := range files {
		scramble(t, f)
	}
	use()
}

func TestADeadContextStopsAnInstantiationNotAGuest(t *testing.T) {
	rt := runtime(t, wazero.Options{})
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

func TestCompileReportsWhatItCannotLink(t *testing.T) {
	rt := runtime(t, wazero.Options{})
	if err := rt.Validate(context.Background(), []byte("\x00asm\x01\x00\x00\x00\xff")); err == nil {
		t.Error("a broken module is valid")
	}
	if _, ok := rt.Import("wasi_snapshot_preview1", "path_open"); ok {
		t.Error("files are served")
	}
	if s, ok := rt.Import("sluice", "log"); !ok || s != "(i32, i32, i32) -> " {
		t.Errorf("sluice.log is %q, %v", s, ok)
	}
}
