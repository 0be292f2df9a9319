package plugins_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// armed is the number of waiting requests at which the hostile policies of these tests strike.
const armed = 77

// failing is what a policy may do instead of deciding.
func failing() map[string]struct {
	code   guesttest.Code
	reason string
} {
	type failure = struct {
		code   guesttest.Code
		reason string
	}
	return map[string]failure{
		"loops forever":     {guesttest.Forever(), "out_of_fuel"},
		"traps":             {guesttest.Unreachable, "trap"},
		"divides by zero":   {guesttest.Seq(guesttest.I32(1), guesttest.I32(0), guesttest.Div32, guesttest.Drop), "trap"},
		"reads far outside": {guesttest.Seq(guesttest.I32(-8), guesttest.Load64(0), guesttest.Drop), "trap"},
		"returns 7":         {guesttest.Seq(guesttest.I32(7), guesttest.Return), "bad_return"},
	}
}

// striker answers at the export until it is armed, and shows in memory whether its instance is new.
func striker(export string, strike guesttest.Code) []byte {
	return guesttest.Policy(guesttest.Hook(export, guesttest.When(armed, strike), guesttest.I32(0)))
}

func TestAPolicyThatFailsCostsOneNativeDecisionInEachHook(t *testing.T) {
	for name, f := range failing() {
		for _, x := range exports {
			t.Run(name+" in "+x.hook, func(t *testing.T) {
				r := newRig(t, plugins.Options{})
				r.push("p", striker(x.export, f.code))
				decided, by := ask(r.step(), x.hook, r.now, armed)
				if decided || x.hook != "events" && by >= 0 {
					t.Errorf("decided %v by %d, want the native default in the policy's place", decided, by)
				}
				if got := r.hook("p", x.hook).Fallbacks[f.reason]; got != 1 {
					t.Errorf("%d fallbacks counted for %s, want 1", got, f.reason)
				}
				r.eventually("the policy answers again", func() bool {
					before := r.hook("p", x.hook)
					ask(r.step(), x.hook, r.now, 0)
					after := r.hook("p", x.hook)
					return after.Calls > before.Calls && after.Fallbacks["no_instance"] == before.Fallbacks["no_instance"]
				})
			})
		}
	}
}

func TestUnboundedRecursionEndsByFuelAndItsMemoryComesBack(t *testing.T) {
	recurse := guesttest.Module{
		Funcs: []guesttest.Func{
			{Params: "i", Results: "i", Code: guesttest.Seq(guesttest.Get(0), guesttest.Call(0))},
			guesttest.Hook(abi.ExportAdmit, guesttest.When(armed, guesttest.I32(1), guesttest.Call(0), guesttest.Drop), guesttest.I32(0)),
		},
	}.Bytes()
	r := newRig(t, plugins.Options{FaultLimit: 1000})
	r.push("p", recurse)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	fail := func(times uint64) {
		for want := r.hook("p", "admit").Fallbacks["out_of_fuel"] + times; r.hook("p", "admit").Fallbacks["out_of_fuel"] < want; {
			r.admit(armed, 1)
			runtime.Gosched()
		}
	}
	fail(3)
	before := heap()
	fail(50)
	r.eventually("the old instances are freed", func() bool { _, n := r.rt.Live(); return n <= 2 })
	if after := heap(); after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes over 50 recursions", before, after)
	}
}

func TestAnInstanceThatTrappedIsNeverUsedAgain(t *testing.T) {
	// It marks its memory before it traps, and shows the mark when it decides.
	mark := guesttest.Put32(guesttest.Free, 99)
	shown := guesttest.Seq(guesttest.I32(guesttest.OutPtr), guesttest.I32(guesttest.Free), guesttest.Load32(0), guesttest.Store32(16))
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Policy(guesttest.Hook(abi.ExportAdmit, guesttest.When(armed, mark, guesttest.Unreachable),
		guesttest.Put32(guesttest.OutPtr, 1|0xff<<8), shown, guesttest.I32(0))))
	r.admit(armed, 1)
	r.eventually("another instance decides", func() bool {
		out, by := r.admit(0, 1)
		if by[0] > 0 && out[0].MaxTokensCap == 99 {
			t.Fatal("the instance that trapped decided again")
		}
		return by[0] > 0
	})
	if got := r.info("p").Replaced; got != 1 {
		t.Errorf("%d instances replaced, want 1", got)
	}
}

func TestTooManyFaultsQuarantineThePolicyAndTheVersionBeforeItTakesItsPlace(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	good := r.info("p").Digest
	r.push("p", guesttest.Breaker(2, armed, guesttest.Forever()))
	bad := r.info("p").Digest
	r.eventually("the version before decides", func() bool { r.admit(armed, 1); return r.mark() == 1 })

	q := r.events(plugins.EventQuarantined)
	if len(q) != 1 || q[0].Digest != bad || q[0].Name != "p" {
		t.Fatalf("quarantine events %+v, want one that names %s", q, bad)
	}
	if r.info("p").Digest != good || r.info("p").State != plugins.StateActive {
		t.Errorf("listed %+v, want version %s, active", r.info("p"), good)
	}
	if f := r.info("p").Fallen; f == nil || f.Digest != bad || f.State != plugins.StateQuarantined || f.Calls[0].Fallbacks["out_of_fuel"] != 5 {
		t.Errorf("the fallen version is listed as %+v, want %s with the 5 faults that quarantined it", f, bad)
	}
	if len(r.events(plugins.EventFault)) != 5 {
		t.Errorf("%d fault events, want the 5 that quarantine", len(r.events(plugins.EventFault)))
	}
}

func TestANewVersionEndsTheNoticeOfAFallenOne(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	r.eventually("the version before decides", func() bool { r.admit(armed, 1); return r.mark() == 1 })
	r.push("p", guesttest.Admitter(3))
	if f := r.info("p").Fallen; f != nil {
		t.Errorf("version %d is still listed as fallen after the next push", f.Version)
	}
}

func TestAQuarantinedPolicyWithoutAVersionBeforeItLeavesTheNativeDefault(t *testing.T) {
	r := newRig(t, plugins.Options{FaultLimit: 2})
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	r.eventually("the hook is nobody's", func() bool { r.admit(armed, 1); return r.step().Hooks() == 0 })
	p := r.info("p")
	if p.State != plugins.StateQuarantined || p.Calls[0].Fallbacks["trap"] != 2 {
		t.Errorf("listed %+v, want it quarantined after 2 traps", p)
	}
	if _, by := r.admit(0, 1); by[0] != abi.Native {
		t.Errorf("decided by %d, want the native default", by[0])
	}
	r.push("p", guesttest.Admitter(3))
	if r.mark() != 3 || r.info("p").State != plugins.StateActive {
		t.Error("a new version did not take the quarantined one's place")
	}
}

func TestAVersionThatFailsWhileItIsBeingReplacedIsNoWayBack(t *testing.T) {
	staged := make(chan struct{}, 4)
	r := newRig(t, plugins.Options{FaultLimit: 1, OnStaged: func() { staged <- struct{}{} }})
	r.before("p", guesttest.Breaker(1, armed, guesttest.Unreachable))
	set := r.step()
	done := make(chan error, 1)
	go func() { done <- r.Push(context.Background(), "p", guesttest.Admitter(2), nil) }()
	<-staged
	ask(set, "admit", r.now, armed) // the old version is quarantined in the step before the swap
	r.step()
	if err := <-done; err != nil || r.mark() != 2 {
		t.Fatalf("pushed: %v, decided by %d", err, r.mark())
	}
	if p := r.info("p"); p.Previous != "" || p.State != plugins.StateActive {
		t.Errorf("listed %+v, want no way back to the quarantined version", p)
	}
}

func TestAPushOverAQuarantinedVersionKeepsTheGoodOneBeforeIt(t *testing.T) {
	r := newRig(t, plugins.Options{FaultLimit: 1})
	r.push("p", guesttest.Admitter(1))
	good := r.info("p").Digest
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	done := make(chan error, 1)
	r.admit(armed, 1)
	go func() { done <- r.Push(context.Background(), "p", guesttest.Admitter(3), nil) }()
	r.eventually("the push is in force", func() bool { return r.mark() == 3 })
	if err := <-done; err != nil || r.info("p").Previous != good {
		t.Errorf("pushed: %v; a rollback would activate %q, want %s", err, r.info("p").Previous, good)
	}
}

func TestFaultsFarApartDoNotQuarantine(t *testing.T) {
	r := newRig(t, plugins.Options{FaultLimit: 3, FaultWindow: 10_000_000_000, Inline: true})
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	for range 20 {
		r.admit(armed, 1)
		r.now += 6_000_000_000
	}
	if p := r.info("p"); p.State != plugins.StateActive || p.Calls[0].Fallbacks["trap"] != 20 {
		t.Errorf("listed %+v, want it active with 20 traps", p)
	}
}

func TestGrowingMemoryStopsAtTheLimitAndThePolicySeesIt(t *testing.T) {
	const pages = 16
	// It takes every page it gets, then admits with memory.grow's last answer as its mark.
	greedy := guesttest.Policy(guesttest.Hook(abi.ExportAdmit,
		guesttest.Loop(guesttest.I32(1), guesttest.Grow, guesttest.Set(1), guesttest.Get(1), guesttest.I32(-1), guesttest.Sub32, guesttest.BrIf(0)),
		guesttest.Put32(guesttest.OutPtr, 1|0xff<<8),
		guesttest.I32(guesttest.OutPtr), guesttest.Get(1), guesttest.Store32(16), guesttest.I32(0)))
	r := newRig(t, plugins.Options{Budget: plugins.Budget{Pages: pages}})
	r.push("p", greedy)
	if got := r.mark(); got != 0xffffffff {
		t.Errorf("memory.grow answered %d at the limit, want -1", int32(got))
	}
	if h := r.hook("p", "admit"); h.Fallbacks["trap"]+h.Fallbacks["out_of_fuel"] != 0 {
		t.Errorf("counted %+v, want no fault", h)
	}
	err := r.Push(context.Background(), "big", guesttest.Module{MinPages: pages + 1, Funcs: []guesttest.Func{guesttest.Admit(1)}}.Bytes(), nil)
	wants(t, err, plugins.StageMeter, "pages")
}

func TestRejectingEverythingIsADecision(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Rejecter(1<<40, 429))
	out, by := r.admit(0, 5)
	for i := range out {
		if out[i].Action != uint8(abi.ActionReject) || out[i].Status != 429 || r.Ref(by[i]).Name != "p" {
			t.Errorf("row %d: %+v by %d, want the policy's 429", i, out[i], by[i])
		}
	}
}

func TestATrapSaysWhereAndWhoItWas(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	r.admit(armed, 1)
	faults := r.events(plugins.EventFault)
	if len(faults) != 1 {
		t.Fatalf("%d fault events, want 1", len(faults))
	}
	e, text := faults[0], ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	if e.Hook != "admit" || e.Reason != "trap" || e.Digest != r.info("p").Digest {
		t.Errorf("event %+v does not name hook, reason and digest", e)
	}
	for _, want := range []string{"p@" + e.Digest[:12], "sluice_admit", "unreachable"} {
		if !strings.Contains(text, want) {
			t.Errorf("the error does not say %q: %s", want, text)
		}
	}
}
