package plugins_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// relapsing strikes at the export when it is armed, after it has marked its memory. An instance that has struck before
// and is asked again returns 9.
func relapsing(export string, strike guesttest.Code) []byte {
	hook := guesttest.Hook(export,
		guesttest.I32(guesttest.Free), guesttest.Load32(0), guesttest.If(guesttest.I32(9), guesttest.Return),
		guesttest.When(armed, guesttest.Put32(guesttest.Free, 1), strike), guesttest.I32(0))
	deeper := guesttest.Func{Params: "i", Results: "i", Code: guesttest.Seq(guesttest.Get(0), guesttest.Call(0))}
	return guesttest.Module{Funcs: []guesttest.Func{deeper, hook}}.Bytes()
}

// Faults 1 to 3 in each hook, as often as it takes: every time the native default decides and the instance is replaced, and at
// the fifth the policy is quarantined, with an event that names it.
func TestWhoeverFailsTooOftenInAnyHookIsQuarantined(t *testing.T) {
	for name, f := range map[string]struct {
		code   guesttest.Code
		reason string
	}{
		"loops forever":          {guesttest.Forever(), "out_of_fuel"},
		"recurses without bound": {guesttest.Seq(guesttest.I32(1), guesttest.Call(0), guesttest.Drop), "out_of_fuel"},
		"traps":                  {guesttest.Unreachable, "trap"},
		"divides by zero":        {guesttest.Seq(guesttest.I32(1), guesttest.I32(0), guesttest.Div32, guesttest.Drop), "trap"},
	} {
		for _, x := range exports {
			t.Run(name+" in "+x.hook, func(t *testing.T) {
				r := newRig(t, plugins.Options{Inline: true})
				r.push("p", relapsing(x.export, f.code))
				digest := r.info("p").Digest
				for i := 1; i <= 5; i++ {
					if decided, by := ask(r.step(), x.hook, r.now, armed); decided || by > 0 {
						t.Fatalf("failure %d: decided %v by %d", i, decided, by)
					}
				}
				r.step()
				p := r.info("p")
				if h := p.Calls[0]; p.State != plugins.StateQuarantined || h.Fallbacks[f.reason] != 5 || h.Fallbacks["bad_return"] != 0 {
					t.Errorf("it is %s and counts %+v, want 5 times %s and no second call of an instance that failed", p.State, h, f.reason)
				}
				q := r.events(plugins.EventQuarantined)
				if len(q) != 1 || q[0].Name != "p" || q[0].Digest != digest || q[0].Err == nil || !strings.Contains(q[0].Err.Error(), x.export) {
					t.Errorf("events %+v, want one that names policy, digest and function", q)
				}
				if decided, by := ask(r.step(), x.hook, r.now, 0); decided || by != abi.Native {
					t.Errorf("in quarantine: decided %v by %d", decided, by)
				}
			})
		}
	}
}

// resident is the process's memory, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	return statm(t)
}

func statm(t *testing.T) int64 {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector has memory of its own")
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// glutton takes all the memory that it can get and writes to every page of it, and traps when it is armed.
func glutton(mark int32) []byte {
	return guesttest.Breaker(mark, armed,
		guesttest.Loop(guesttest.I32(1), guesttest.Grow, guesttest.I32(-1), guesttest.Sub32, guesttest.BrIf(0)),
		guesttest.I32(guesttest.Free), guesttest.Set(1),
		guesttest.Loop(
			guesttest.Get(1), guesttest.I32(1), guesttest.Store8(0),
			guesttest.Get(1), guesttest.I32(4096), guesttest.Add32, guesttest.Set(1),
			guesttest.Get(1), guesttest.I32(gluttonPages<<16), guesttest.LtU32, guesttest.BrIf(0)),
		guesttest.Unreachable)
}

const gluttonPages = 32

// Faults 2 and 5: the process never holds more for a policy than pages times instances, and what its failed instances held
// comes back.
func TestTheMemoryOfPoliciesThatTakeAllIsBoundedAndComesBack(t *testing.T) {
	const each, rounds = gluttonPages << 16, 15
	r := newRig(t, plugins.Options{Inline: true, FaultLimit: 1 << 30, Budget: plugins.Budget{Pages: gluttonPages}})
	for i := range 4 {
		r.push(fmt.Sprint("p", i), glutton(int32(1+i)))
	}
	before := resident(t)
	most := int64(0)
	for range rounds {
		r.admit(armed, 1)
		most = max(most, statm(t))
	}
	const slack = 16 << 20
	if got := most - before; got > 4*each+slack {
		t.Errorf("it grew by %d MiB over %d failures, want at most 4 instances of %d MiB", got>>20, 4*rounds, each>>20)
	}
	if got := resident(t) - before; got > slack {
		t.Errorf("%d MiB are left after %d failures", got>>20, 4*rounds)
	}
	if h := r.hook("p3", "admit"); h.Fallbacks["trap"] != rounds {
		t.Errorf("counted %+v, want %d traps", h, rounds)
	}
}

// Faults 2 and 11: a guest that recurses while it loads has fuel for a stack of a hundred megabytes and more. It does not stay,
// whether the guest is refused or taken, but for what an instance of the runtime keeps for itself.
func TestTheStackOfAGuestThatRecursesWhileItLoadsComesBack(t *testing.T) {
	deep := func(end guesttest.Code) []byte {
		return guesttest.Module{Funcs: []guesttest.Func{
			{Params: "i", Results: "i", Code: guesttest.Seq(guesttest.Get(0), guesttest.If(
				guesttest.Get(0), guesttest.I32(1), guesttest.Sub32, guesttest.Call(0), guesttest.Return), end)},
			guesttest.Hook(abi.ExportConfigure, guesttest.I32(600_000), guesttest.Call(0)), guesttest.Admit(1),
		}}.Bytes()
	}
	r := newRig(t, plugins.Options{Budget: plugins.DefaultBudget})
	r.push("p", guesttest.Admitter(1))
	before := resident(t)
	stays := func(what string) {
		// Without resident's own collection: the host must have done it.
		if got := statm(t) - before; got > 64<<20+keptStacks {
			t.Errorf("%s: %d MiB stay", what, got>>20)
		}
	}
	err := r.during(func() error { return r.Push(background, "p", deep(guesttest.Unreachable), nil) })
	wants(t, err, plugins.StageConfigure, "unreachable")
	stays("refused")
	r.push("p", deep(guesttest.I32(0)))
	stays("taken")
}
