package plugins_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// Fault 10: whatever the policies do, the native defaults can be had at once.

func (r *rig) safe(on bool) {
	r.t.Helper()
	if err := r.during(func() error { return r.SafeMode(background, on) }); err != nil {
		r.t.Fatal(err)
	}
}

func TestSafeModeLeavesEveryHookToTheNativeDefaultsAndItsEndBringsThePoliciesBack(t *testing.T) {
	for _, inline := range []bool{false, true} {
		r := newRig(t, plugins.Options{Inline: inline})
		r.push("p", counting(1))
		r.shadow("p", counting(1))
		r.mark()
		_, before, _ := r.Swap(r.now)
		r.safe(true)
		if set, epoch, _ := r.Swap(r.now); set.Hooks() != 0 || epoch != before+1 {
			t.Errorf("inline %v: hooks %v, epoch %d after %d", inline, set.Hooks(), epoch, before)
		}
		if _, by := r.admit(0, 1); by[0] != abi.Native {
			t.Errorf("inline %v: decided by %d", inline, by[0])
		}
		if p := r.info("p"); p.State != plugins.StateSuspended || p.ActiveSince != 0 || p.Calls[0].Calls != 1 || !r.Safe() {
			t.Errorf("inline %v: listed %+v", inline, p)
		}
		r.push("q", guesttest.Admitter(9)) // changes go on
		if r.mark() != 0 {
			t.Errorf("inline %v: a push ended safe mode", inline)
		}
		r.safe(true) // no change
		r.safe(false)
		if p := r.info("p"); p.State != plugins.StateActive || p.ActiveSince == 0 || r.Safe() {
			t.Errorf("inline %v: listed %+v", inline, p)
		}
		if got := r.mark(); got != 2 {
			t.Errorf("inline %v: the policy counts to %d, want 2: it stayed loaded", inline, got)
		}
		r.eventually("events", func() bool {
			e := r.events(plugins.EventSafeMode)
			return len(e) == 2 && e[0].Reason == "on" && e[1].Reason == "off"
		})
	}
}

func TestAHostCanStartInSafeMode(t *testing.T) {
	r := newRig(t, plugins.Options{SafeMode: true})
	r.before("p", guesttest.Admitter(1))
	if r.mark() != 0 || r.info("p").State != plugins.StateSuspended {
		t.Errorf("decided by %d, listed as %s", r.mark(), r.info("p").State)
	}
	r.safe(false)
	if r.mark() != 1 {
		t.Error("the policy does not decide when safe mode ends")
	}
}

func TestSafeModeWaitsForNoCompilationAndNoOtherChange(t *testing.T) {
	rt := newRuntime(t)
	g := &gated{Runtime: rt}
	staged := make(chan struct{}, 8)
	r := newRigOn(t, rt, g, plugins.Options{OnStaged: func() { staged <- struct{}{} }})
	r.before("p", guesttest.Admitter(1))
	r.before("p", guesttest.Admitter(2))
	r.mark()
	g.gate.Lock()
	push, back := make(chan error, 1), make(chan error, 1)
	go func() { push <- r.Push(background, "q", guesttest.Admitter(3), nil) }() // holds the place of a compilation
	go func() { back <- r.Rollback(background, "p") }()                         // holds the place of a change
	time.Sleep(10 * time.Millisecond)
	done := make(chan error, 1)
	go func() { done <- r.SafeMode(background, true) }()
	<-staged
	if got := r.mark(); got != 0 {
		t.Errorf("decided by %d at the next step", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	g.gate.Unlock()
	for _, c := range []chan error{push, back} {
		if err := r.during(func() error { return <-c }); err != nil {
			t.Error(err)
		}
	}
	if r.mark() != 0 {
		t.Error("the changes ended safe mode")
	}
}

func TestAnOvertakenSwitchReturnsAndOneGivenUpStands(t *testing.T) {
	staged := make(chan struct{}, 8)
	r := newRig(t, plugins.Options{OnStaged: func() { staged <- struct{}{} }})
	r.before("p", guesttest.Admitter(1))
	r.step()
	on, off := make(chan error, 1), make(chan error, 1)
	go func() { on <- r.SafeMode(background, true) }()
	<-staged
	go func() { off <- r.SafeMode(background, false) }()
	if err := <-on; err != nil {
		t.Errorf("overtaken: %v", err)
	}
	<-staged
	if r.mark() != 1 {
		t.Error("the overtaken switch came into force")
	}
	if err := <-off; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(background)
	go func() { on <- r.SafeMode(ctx, true) }()
	<-staged
	cancel()
	if err := <-on; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if r.mark() != 0 {
		t.Error("a switch that was given up did not come into force")
	}
	go func() { off <- r.SafeMode(background, false) }()
	<-staged
	r.Detach() // the loop ends
	if err := <-off; err != nil || r.Safe() {
		t.Errorf("without a loop: %v, safe %v", err, r.Safe())
	}
}

func TestADisabledPolicyDoesNotDecideAndKeepsWhatItKnows(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", counting(1))
	r.push("q", guesttest.Policy(guesttest.Hook(abi.ExportBatchCap, guesttest.I32(0))))
	able := func(f func(context.Context, string) error, name string) error {
		return r.during(func() error { return f(background, name) })
	}
	r.mark()
	if err := able(r.Disable, "p"); err != nil {
		t.Fatal(err)
	}
	if r.mark() != 0 || r.step().Hooks() != abi.HookBatchCap {
		t.Errorf("decided by %d, hooks %v", r.mark(), r.step().Hooks())
	}
	if p := r.info("p"); p.State != plugins.StateDisabled || p.ActiveSince != 0 || len(r.List()) != 2 || r.List()[0].Name != "p" {
		t.Errorf("listed %+v", p)
	}
	_, before, _ := r.Swap(r.now)
	if err := able(r.Disable, "p"); err != nil {
		t.Error(err)
	}
	if _, after, _ := r.Swap(r.now); after != before {
		t.Error("disabling it again changed the set")
	}
	if err := able(r.Enable, "p"); err != nil || r.mark() != 2 || r.info("p").State != plugins.StateActive || r.info("p").ActiveSince == 0 {
		t.Errorf("enabled: %v, listed %+v", err, r.info("p"))
	}
	if err := able(r.Disable, "r"); !errors.Is(err, plugins.ErrUnknown) {
		t.Errorf("an unknown name: %v", err)
	}
	_ = able(r.Disable, "p")
	r.push("p", counting(1)) // the same again: whoever pushes wants it to decide
	if got := r.mark(); got != 3 || r.info("p").State != plugins.StateActive {
		t.Errorf("pushed over a disabled one it counts to %d and is %s", got, r.info("p").State)
	}
}

func TestADisabledPolicyIsNotTriedAgain(t *testing.T) {
	r := lone(t)
	r.quarantined(2)
	if err := r.Disable(background, "p"); err != nil {
		t.Fatal(err)
	}
	r.now += 100 * second
	if r.mark() != 0 || r.info("p").State != plugins.StateDisabled || r.info("p").NextProbe != 0 {
		t.Errorf("listed %+v", r.info("p"))
	}
	if err := r.Enable(background, "p"); err != nil {
		t.Fatal(err)
	}
	if r.mark() != 1 || r.info("p").State != plugins.StateHalfOpen {
		t.Errorf("enabled after its rest it is %s", r.info("p").State)
	}
}

func TestANewSetSaysWhatItRemoved(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	r.push("a", guesttest.Admitter(1))
	r.push("b", guesttest.Admitter(2))
	if err := r.SetAll(background, []plugins.Policy{{Name: "b", Wasm: guesttest.Admitter(3)}}); err != nil {
		t.Fatal(err)
	}
	if e := r.events(plugins.EventRemoved); len(e) != 1 || e[0].Name != "a" {
		t.Errorf("events %+v", e)
	}
}
