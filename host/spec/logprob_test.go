package spec

import (
	"math"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

func TestLogProbs(t *testing.T) {
	row := logs(0.2, 0.4, 0.1, 0.3)
	own, top := LogProbs(row, 3, 2, nil)
	if math.Abs(own-math.Log(0.3)) > 1e-6 || len(top) != 2 || top[0].Token != 1 || top[1].Token != 3 ||
		math.Abs(top[0].Log-math.Log(0.4)) > 1e-6 || top[1].Log != own {
		t.Errorf("token 3 has %g, the best are %v", own, top)
	}
	for _, c := range []struct {
		name string
		row  []float32
		t    gpu.Token
		want float64
	}{
		{"a logit that is not a number", []float32{1, nan}, 1, math.Inf(-1)},
		{"nothing to draw from", []float32{nan, -inf}, 1, math.Inf(-1)},
		{"a token outside the row", []float32{1, 1}, 2, math.Inf(-1)},
		{"the one infinite logit", []float32{1, inf}, 1, 0},
		{"beside an infinite logit", []float32{1, inf}, 0, math.Inf(-1)},
		{"large logits", []float32{1e30, 1e30}, 0, -math.Ln2},
	} {
		if own, _ := LogProbs(c.row, c.t, 0, nil); math.Abs(own-c.want) > 1e-9 && own != c.want {
			t.Errorf("%s: %g, not %g", c.name, own, c.want)
		}
	}
}

// The probabilities of all tokens add up to one, in falling order.
func TestLogProbsAreADistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SliceOfN(rapid.Float32Range(-30, 30), 1, 60).Draw(t, "row")
		_, top := LogProbs(row, 0, len(row), nil)
		sum, last := 0.0, 0.0
		for _, x := range top {
			if x.Log > last {
				t.Fatalf("%g comes after %g", x.Log, last)
			}
			sum, last = sum+math.Exp(x.Log), x.Log
		}
		if len(top) != len(row) || math.Abs(sum-1) > 1e-9 {
			t.Fatalf("%d of %d tokens, which add up to %g", len(top), len(row), sum)
		}
	})
}
