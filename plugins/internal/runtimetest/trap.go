package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

func aTrapNamesTheFunctionsOfTheGuestsStack(t *testing.T, with Maker) {
	m := guesttest.Module{Named: true, Funcs: []guesttest.Func{
		{Export: "inner", Code: guesttest.Unreachable},
		guesttest.Hook(abi.ExportAdmit, guesttest.Call(0), guesttest.I32(0)),
	}}
	i, _ := start(t, open(t, with, ""), m.Bytes())
	_, err := call(i)
	var trap *plugins.Trap
	if !errors.As(err, &trap) || trap.OutOfFuel || trap.Cause != "unreachable" || trap.Func != abi.ExportAdmit {
		t.Fatalf("got %#v", err)
	}
	if len(trap.Stack) != 2 || !strings.HasPrefix(trap.Stack[0], "$inner") || !strings.HasPrefix(trap.Stack[1], "$sluice_admit") {
		t.Errorf("stack %q, want inner called by sluice_admit", trap.Stack)
	}
}

func anEndlessLoopAndEndlessRecursionRunOutOfFuel(t *testing.T, with Maker) {
	for name, code := range map[string]guesttest.Code{
		"loop":      guesttest.Seq(guesttest.Forever(), guesttest.I32(0)),
		"recursion": guesttest.Seq(guesttest.Get(0), guesttest.Call(0)),
	} {
		i, _ := start(t, open(t, with, ""), one(nil, code))
		_, err := call(i)
		var trap *plugins.Trap
		if !errors.As(err, &trap) || !trap.OutOfFuel {
			t.Errorf("%s: %v, want it out of fuel", name, err)
		}
	}
}

// largeFramesRunOutOfFuelFirst: 300 values are live over the call, and their sum is stored after it.
func largeFramesRunOutOfFuelFirst(t *testing.T, with Maker) {
	var loads, adds guesttest.Code
	for k := range uint32(300) {
		loads = append(loads, guesttest.Seq(guesttest.Get(0), guesttest.Load32(4*k))...)
		adds = append(adds, guesttest.Add32...)
	}
	rt := open(t, with, "")
	for _, budget := range []int64{100_000, 3_000_000} {
		i, _ := start(t, rt, one(nil, loads, guesttest.Get(0), guesttest.Call(0), adds))
		c := plugins.Call{Entry: plugins.EntryAdmit, Arg: 8, Fuel: budget}
		var trap *plugins.Trap
		if err := i.Call(&c); !errors.As(err, &trap) || !trap.OutOfFuel {
			t.Errorf("with %d units: %v, want it out of fuel", budget, err)
		}
	}
}

func everyKindOfTrapHasItsCause(t *testing.T, with Maker) {
	rt := open(t, with, "")
	far := int32(0x7fff_0000)
	for _, c := range []struct {
		cause string
		code  guesttest.Code
	}{
		{"unreachable", guesttest.Unreachable},
		{"integer divide by zero", guesttest.Seq(guesttest.I32(1), guesttest.I32(0), guesttest.Div32)},
		{"integer overflow", guesttest.Seq(guesttest.I32(-1<<31), guesttest.I32(-1), guesttest.Div32)},
		{"integer overflow", guesttest.Seq(guesttest.F64(1e300), guesttest.TruncF64)},
		{"invalid conversion to integer", guesttest.Seq(guesttest.F64(math.NaN()), guesttest.TruncF64)},
		{"out of bounds memory access", guesttest.Seq(guesttest.I32(far), guesttest.Load32(0))},
		{"out of bounds memory access", guesttest.Seq(guesttest.I32(-1), guesttest.Load32(0xffff_fff0))},
		{"out of bounds memory access", guesttest.Seq(guesttest.I32(2*65536-3), guesttest.Load32(0))},
		{"out of bounds memory access", guesttest.Seq(guesttest.I32(far), guesttest.I32(0), guesttest.I32(9), guesttest.Fill, guesttest.I32(0))},
	} {
		i, _ := start(t, rt, one(nil, c.code, guesttest.Drop, guesttest.I32(0)))
		before := i.Fuel()
		_, err := call(i)
		var trap *plugins.Trap
		if !errors.As(err, &trap) || trap.OutOfFuel || trap.Cause != c.cause || before == i.Fuel() {
			t.Errorf("got %v, want %s", err, c.cause)
		}
	}
}

func aFailedStartSaysWhere(t *testing.T, with Maker) {
	rt := open(t, with, "")
	for _, c := range []struct {
		m         guesttest.Module
		fn, cause string
	}{
		{guesttest.Module{Start: guesttest.Unreachable}, "start", "unreachable, or out of fuel"},
		{guesttest.Module{Start: guesttest.Forever()}, "start", "unreachable, or out of fuel"},
		{guesttest.Module{Start: guesttest.Seq(guesttest.I32(1), guesttest.I32(0), guesttest.Div32, guesttest.Drop)}, "start", "integer divide by zero"},
		{guesttest.Module{Funcs: []guesttest.Func{{Export: "_initialize", Code: guesttest.Unreachable}}}, "_initialize", "unreachable"},
		{guesttest.Module{Funcs: []guesttest.Func{{Export: "_initialize", Code: guesttest.Forever()}}}, "_initialize", "out of fuel"},
	} {
		m, err := rt.Compile(context.Background(), metered(t, c.m.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: &ear{}})
		var trap *plugins.Trap
		if !errors.As(err, &trap) || trap.Func != c.fn || trap.Cause != c.cause || trap.OutOfFuel != (c.cause == "out of fuel") {
			t.Errorf("got %v, want %s: %s", err, c.fn, c.cause)
		}
		m.Close()
	}
	m, err := rt.Compile(context.Background(), metered(t, guesttest.Policy(
		guesttest.Func{Export: "_initialize", Params: "i", Code: guesttest.Drop[:0]})))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: &ear{}}); err == nil || !strings.Contains(err.Error(), "() -> ()") {
		t.Errorf("an _initialize with a parameter: %v", err)
	}
}

// guestsThatTrapTogetherDoNotMeet traps from many goroutines while Go collects garbage: both sides have stacks, and perhaps
// signal handlers, of their own.
func guestsThatTrapTogetherDoNotMeet(t *testing.T, with Maker) {
	const goroutines, rounds = 8, 50
	rt := open(t, with, "")
	m, err := rt.Compile(context.Background(), metered(t, one(nil,
		guesttest.Get(0), guesttest.If(guesttest.I32(1), guesttest.I32(0), guesttest.Div32, guesttest.Drop),
		guesttest.I32(guesttest.Free), guesttest.Load32(0))))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var all sync.WaitGroup
	for k := range goroutines {
		all.Go(func() {
			for range rounds {
				if err := traps(m, byte(k)); err != nil {
					t.Error(err)
					return
				}
				runtime.GC()
			}
		})
	}
	all.Wait()
}

// traps calls a new instance, which returns the byte that it was given, and then traps.
func traps(m plugins.Module, mark byte) error {
	i, err := m.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: &ear{}})
	if err != nil {
		return err
	}
	defer i.Close()
	c := plugins.Call{Entry: plugins.EntryAdmit, Fuel: 10_000}
	c.In[0] = plugins.Segment{Ptr: guesttest.Free, Data: []byte{mark}}
	if err := i.Call(&c); err != nil || c.Ret != int64(mark) {
		return fmt.Errorf("returned %d, %w, want %d", c.Ret, err, mark)
	}
	c.Arg = 1
	var trap *plugins.Trap
	if err := i.Call(&c); !errors.As(err, &trap) || trap.Cause != "integer divide by zero" {
		return fmt.Errorf("got %v, want a division by zero", err)
	}
	return nil
}
