package sluice_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
	"github.com/sluice-dev/sluice/sdk/go/sluicetest"
)

// A verdict limits nothing that it was not told to limit.
func TestVerdictsAreNeutral(t *testing.T) {
	for _, v := range []sluice.Verdict{sluice.Abstain(), sluice.Admit(), sluice.Degrade(), sluice.Reject(503, sluice.ReasonQueueAge)} {
		if v.ClassOverride != -1 || v.SpeculationCap != -1 || v.HasPriority != 0 || v.MaxTokensCap != 0 || v.QueueTTLMs != 0 || v.RetryAfterMs != 0 {
			t.Errorf("%+v", v)
		}
	}
}

// Times are rounded up: a client that comes back a millisecond early is rejected again.
func TestVerdictTimes(t *testing.T) {
	for ns, ms := range map[int64]uint32{-1: 0, 0: 0, 1: 1, sluice.Millisecond: 1, sluice.Millisecond + 1: 2, sluice.Second: 1000, math.MaxInt64: math.MaxUint32} {
		v := sluice.Reject(429, sluice.ReasonCapacity).RetryAfter(ns).QueueTTL(ns)
		if v.RetryAfterMs != ms || v.QueueTTLMs != ms {
			t.Errorf("%d ns gives %d and %d ms", ns, v.RetryAfterMs, v.QueueTTLMs)
		}
	}
}

// An average lies between the smallest and the largest value, follows a constant exactly, and overflows for nothing.
func TestEWMA(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := sluice.EWMA{Shift: rapid.Uint8().Draw(t, "shift")}
		if _, ok := e.Value(); ok {
			t.Fatal("a value before the first one")
		}
		least, most := int64(math.MaxInt64), int64(math.MinInt64)
		for _, x := range rapid.SliceOfN(rapid.Int64(), 1, 50).Draw(t, "values") {
			e.Add(x)
			x = min(max(x, -1<<46), 1<<46)
			least, most = min(least, x), max(most, x)
			if v, ok := e.Value(); !ok || v < least || v > most {
				t.Fatalf("the average is %d of values from %d to %d", v, least, most)
			}
		}
	})
	e := sluice.EWMA{Shift: 3}
	e.Add(1000)
	for range 100 {
		e.Add(10)
	}
	if v, _ := e.Value(); v != 10 {
		t.Errorf("after many 10s the average is %d", v)
	}
	e.Add(18)
	if v, _ := e.Value(); v != 11 {
		t.Errorf("18 moves an average of 10 to %d, not by an eighth of the way", v)
	}
}

// The switch goes on at once, comes off only after a calm of Hold, and holds in the band between its limits.
func TestHysteresis(t *testing.T) {
	h := sluice.Hysteresis{Above: 4, Below: 3, Hold: 10}
	for i, s := range []struct {
		at, value int64
		on        bool
	}{
		{0, 4, false}, {1, 5, true}, {2, 3, true}, {11, 3, true}, {12, 3, false}, {13, 4, false},
		{14, 5, true}, {15, 3, true}, {20, 4, true}, {21, 3, true}, {30, 3, true}, {31, 3, false},
		{40, 9, true}, {41, 0, true}, {5, 0, true}, {15, 0, false},
	} {
		if on := h.Update(s.at, s.value); on != s.on || h.On() != s.on {
			t.Fatalf("step %d: value %d at %d gives %v", i, s.value, s.at, on)
		}
	}
}

// However the value moves around the threshold, the switch moves at most once in each Hold.
func TestHysteresisDoesNotFlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := sluice.Hysteresis{Above: 4, Below: 3, Hold: int64(rapid.IntRange(1, 20).Draw(t, "hold"))}
		onAt, was := int64(-1000), false
		for at, v := range rapid.SliceOfN(rapid.Int64Range(2, 6), 1, 200).Draw(t, "values") {
			on := h.Update(int64(at), v)
			if v > 4 && !on {
				t.Fatalf("off at %d although the value is %d", at, v)
			}
			if on && !was {
				onAt = int64(at)
			}
			if was && !on && int64(at)-onAt <= h.Hold {
				t.Fatalf("on at %d and off at %d", onAt, at)
			}
			was = on
		}
	})
}

type admits struct{}

func (admits) Admit(*sluice.State, []sluice.Row, []sluice.Verdict) {}

type configures struct{}

func (configures) Configure(*sluice.Config) error { return nil }

// almost has a method whose signature is not the hook's.
type almost struct{}

func (almost) Admit(*sluice.State, []sluice.Row) {}

// The hooks follow from the methods.
func TestHooksOf(t *testing.T) {
	type both struct {
		admits
		configures
	}
	for _, c := range []struct {
		policy any
		want   sluice.Hook
	}{{admits{}, sluice.HookAdmit}, {both{}, sluice.HookAdmit | sluice.HookConfigure}, {almost{}, 0}, {nil, 0}} {
		if got := sluice.HooksOf(c.policy); got != c.want {
			t.Errorf("%T: %b, not %b", c.policy, got, c.want)
		}
	}
}

// A policy without settings refuses all of them.
func TestNoSettings(t *testing.T) {
	if err := sluicetest.Configure(admits{}, nil); err != nil {
		t.Error(err)
	}
	err := sluicetest.Configure(configures{}, map[string]string{"a": "b"})
	if err == nil || err.Error() != `unknown key "a": the policy has no settings` {
		t.Error(err)
	}
}
