package spec

import (
	"math"
	"testing"
)

func TestExp(t *testing.T) {
	worst := 0.0
	for x := -699.9; x <= 0; x += 0.00137 {
		worst = max(worst, math.Abs(exp(x)/math.Exp(x)-1))
	}
	if worst > 1e-15 {
		t.Errorf("relative error %g", worst)
	}
	for x, want := range map[float64]float64{0: 1, -701: 0, math.Inf(-1): 0} {
		if got := exp(x); got != want {
			t.Errorf("exp(%g) = %g", x, got)
		}
	}
	if got := exp(math.NaN()); got != 0 {
		t.Errorf("exp(NaN) = %g", got)
	}
}
