package sluice_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// The setting is the formula's, computed without bounds, for every error and gain: nothing overflows.
func TestPIDIsTheFormula(t *testing.T) {
	gains, errs := rapid.Int64Range(-1<<20, 1<<20), rapid.Int64Range(-1<<40, 1<<40)
	limits := rapid.Int64Range(-1<<31, 1<<31)
	rapid.Check(t, func(t *rapid.T) {
		c := sluice.PID{KP: gains.Draw(t, "kp"), KI: gains.Draw(t, "ki"), KD: gains.Draw(t, "kd"), Shift: uint8(rapid.IntRange(0, 30).Draw(t, "shift"))}
		c.Low = limits.Draw(t, "low")
		c.High = max(limits.Draw(t, "high"), c.Low)
		integral, last := new(big.Int), int64(0)
		clamp := func(x *big.Int, shift uint) *big.Int {
			low, high := new(big.Int).Lsh(big.NewInt(c.Low), shift), new(big.Int).Lsh(big.NewInt(c.High), shift)
			switch {
			case x.Cmp(low) < 0:
				return low
			case x.Cmp(high) > 0:
				return high
			}
			return x
		}
		product := func(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }
		for i, err := range rapid.SliceOfN(errs, 1, 20).Draw(t, "errors") {
			if i == 0 {
				last = err
			}
			integral = clamp(new(big.Int).Add(integral, product(c.KI, err)), uint(c.Shift))
			sum := new(big.Int).Add(product(c.KP, err), integral)
			sum.Add(sum, product(c.KD, err-last))
			last = err
			want := clamp(sum.Rsh(sum, uint(c.Shift)), 0)
			if got := c.Update(err); want.Cmp(big.NewInt(got)) != 0 {
				t.Fatalf("update %d gives %d, not %d", i, got, want)
			}
		}
	})
}

// A controller brings a plant that it knows nothing of to the target, and does not wind up while the setting cannot follow.
func TestPIDReachesTheTarget(t *testing.T) {
	c := sluice.PID{KP: 1, KI: 1, Shift: 4, Low: 0, High: 100}
	c.Reset(50)
	settle := func(target, gain int64) (setting int64) {
		measure := int64(0)
		for range 300 {
			setting = c.Update(target - measure)
			measure += (setting*gain - measure) / 4
		}
		return setting
	}
	if got := settle(120, 3); got < 39 || got > 41 {
		t.Errorf("it settles at %d, not near 40", got)
	}
	if got := settle(1000, 3); got != 100 {
		t.Errorf("a target out of reach gives %d, not the limit", got)
	}
	if got := c.Update(-400); got >= 100 {
		t.Errorf("the next error in the other direction leaves it at %d: it has wound up", got)
	}
	c.Reset(20)
	if got := c.Update(0); got != 20 {
		t.Errorf("after a reset to 20 an error of 0 gives %d", got)
	}
}
