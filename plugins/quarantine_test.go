package plugins_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// Fault 3: a trap, and too many of them.

// at lets the loop step at a moment.
func (r *rig) at(now int64) { r.now = now - 1_000_000; r.step() }

// lone is a host without goroutines that holds one policy, which traps when it is armed and is quarantined at its second trap.
func lone(t *testing.T) *rig {
	r := newRig(t, plugins.Options{Inline: true, FaultLimit: 2, FaultWindow: 10 * second})
	r.push("p", guesttest.Breaker(1, armed, guesttest.Unreachable))
	return r
}

// quarantined makes the policy fail until it is quarantined, and returns the moment of its last fault.
func (r *rig) quarantined(faults int) (at int64) {
	r.t.Helper()
	for range faults {
		r.admit(armed, 1)
		at = r.now
	}
	r.step()
	if s := r.info("p").State; s != plugins.StateQuarantined {
		r.t.Fatalf("it is %s after %d faults", s, faults)
	}
	return at
}

func TestAPolicyWithoutAVersionBeforeItIsTriedAgainAndEachFailureDoublesItsRest(t *testing.T) {
	r := lone(t)
	rest, faults := int64(second), 2
	for try := range 12 {
		fell := r.quarantined(faults)
		if got := r.info("p").NextProbe; got != fell+rest {
			t.Fatalf("try %d: next at %d, want %d after the fault", try, got-fell, rest)
		}
		r.at(fell + rest - 1)
		if _, by := r.admitNow(); by != 0 || r.info("p").State != plugins.StateQuarantined {
			t.Fatalf("try %d: it decides before its rest is over", try)
		}
		r.at(fell + rest)
		if mark, by := r.admitNow(); mark != 1 || by <= 0 {
			t.Fatalf("try %d: decided by %d after the rest", try, by)
		}
		if p := r.info("p"); p.State != plugins.StateHalfOpen || p.NextProbe != 0 || p.ActiveSince != r.now {
			t.Errorf("try %d: listed %+v, want it half open", try, p)
		}
		rest, faults = min(2*rest, 300*second), 1
	}
	if n := len(r.events(plugins.EventProbing)); n != 12 {
		t.Errorf("%d events of trials, want 12", n)
	}
}

func TestATrialIsPassedByCallsAndTimeWithoutAFaultAndThenAllIsAsBefore(t *testing.T) {
	r := lone(t)
	fell := r.quarantined(2)
	began := fell + second
	r.at(began)
	for range 1000 { // many calls in little time
		r.mark()
	}
	if s := r.info("p").State; s != plugins.StateHalfOpen {
		t.Errorf("%s after calls alone", s)
	}
	r.at(began + 10*second)
	if p := r.info("p"); p.State != plugins.StateActive || len(r.events(plugins.EventRecovered)) != 1 {
		t.Fatalf("%s after calls and a fault window", p.State)
	}
	r.now += 20 * second
	fell = r.quarantined(2) // not one
	if got := r.info("p").NextProbe; got != fell+second {
		t.Errorf("next at %d, want the first rest again", got-fell)
	}
	r.at(fell + second)
	r.mark()
	r.at(fell + 100*second) // much time with few calls
	if s := r.info("p").State; s != plugins.StateHalfOpen {
		t.Errorf("%s after time alone", s)
	}
}

func TestAVersionBeforeTheQuarantinedOneStays(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true, FaultLimit: 1})
	r.push("p", guesttest.Admitter(1))
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	r.admit(armed, 1)
	for range 100 {
		r.now += 60 * second
		if r.mark() != 1 {
			t.Fatal("the quarantined version came back")
		}
	}
	if p := r.info("p"); p.NextProbe != 0 || len(r.events(plugins.EventProbing)) != 0 {
		t.Errorf("next trial at %d, want none", p.NextProbe)
	}
	if m, i := r.rt.Live(); m != 1 || i != 1 {
		t.Errorf("%d modules and %d instances, want the fallen one freed", m, i)
	}
}

func TestWithoutBackoffAQuarantineIsForGood(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true, FaultLimit: 1, Backoff: plugins.Backoff{First: -1}})
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	r.admit(armed, 1)
	r.now += 1 << 50
	if r.mark() != 0 || r.info("p").NextProbe != 0 {
		t.Errorf("listed %+v, want it quarantined", r.info("p"))
	}
}

func TestARestingPolicyGivesWayToWhatIsPushedRolledBackOrRemoved(t *testing.T) {
	for name, change := range map[string]func(r *rig) error{
		"a push":     func(r *rig) error { return r.Push(background, "p", guesttest.Admitter(9), nil) },
		"a rollback": func(r *rig) error { return r.Rollback(background, "p") },
		"a removal":  func(r *rig) error { return r.Remove(background, "p") },
		"a new set":  func(r *rig) error { return r.SetAll(background, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plugins.Options{Inline: true, FaultLimit: 1})
			r.push("p", guesttest.Breaker(1, 99, guesttest.Unreachable))
			r.admit(99, 1)
			r.step()
			if err := change(r); err != nil {
				t.Fatal(err)
			}
			decides := r.mark()
			r.now += 100 * second
			if got := r.mark(); got != decides {
				t.Errorf("decided by %d and, after its rest, by %d", decides, got)
			}
		})
	}
}

func TestATrialIsPreparedBesideTheLoop(t *testing.T) {
	rt := newRuntime(t)
	g := &gated{Runtime: rt}
	r := newRigOn(t, rt, g, plugins.Options{FaultLimit: 1})
	r.push("p", guesttest.Breaker(1, armed, guesttest.Unreachable))
	r.admit(armed, 1)
	r.eventually("the hook is nobody's", func() bool { return r.step().Hooks() == 0 })
	r.eventually("its instances are freed", func() bool { _, n := rt.Live(); return n <= 1 })
	g.gate.Lock()
	r.now += 10 * second
	for range 100 {
		if got := r.mark(); got != 0 {
			t.Fatalf("decided by %d while no instance can be made", got)
		}
	}
	g.gate.Unlock()
	r.eventually("the policy is on trial", func() bool { return r.mark() == 1 })
	if s := r.info("p").State; s != plugins.StateHalfOpen {
		t.Errorf("it is %s", s)
	}
	r.admit(armed, 1)
	r.eventually("it is quarantined again", func() bool { return r.info("p").State == plugins.StateQuarantined && r.info("p").NextProbe > 0 })
}

func TestAPolicyThatCannotStartRestsForTwiceAsLong(t *testing.T) {
	var broken atomic.Bool
	r := spied(t, plugins.Options{Inline: true, FaultLimit: 1}, func(int64) error {
		if broken.Load() {
			return errors.New("out of addresses")
		}
		return nil
	})
	r.push("p", guesttest.Breaker(1, armed, guesttest.Unreachable))
	broken.Store(true)
	fell := r.quarantined(1)
	r.at(fell + second)
	if p := r.info("p"); p.State != plugins.StateQuarantined || p.NextProbe != fell+3*second {
		t.Errorf("it is %s, next at %d", p.State, p.NextProbe-fell)
	}
	broken.Store(false)
	r.at(fell + 3*second)
	if r.mark() != 1 {
		t.Error("it does not decide once it can start")
	}
}

func TestTrialsRepeatThemselvesInAReplay(t *testing.T) {
	run := func() (log string) {
		r := lone(t)
		for i := range 30_000 {
			waiting := uint32(0)
			if i%977 == 0 {
				waiting = armed
			}
			_, by := r.admit(waiting, 1)
			log += fmt.Sprint(by[0])
		}
		return log + fmt.Sprintf("%+v", r.List()) + fmt.Sprintf("%+v", r.heard)
	}
	a, b := run(), run()
	if a != b {
		t.Error("two runs differ")
	}
}

// admitNow asks about one row without a step before it.
func (r *rig) admitNow() (mark uint32, by int32) {
	set, _, _ := r.Swap(r.now)
	out, id := ask1(set, r.now)
	return out.MaxTokensCap, int32(id)
}
