package spec

import (
	"math"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// The known answers are those that the authors of Philox publish with Random123.
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, c := range [][5]uint64{
		{0, 0, 0, 0xca00a0459843d731, 0x66c24222c9a845b5},
		{math.MaxUint64, math.MaxUint64, math.MaxUint64, 0x65b021d60cd8310f, 0x4d02f3222f86df20},
		{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x0a5e742c2997341c, 0xb0f883d38000de5d},
	} {
		if a, b := philox(c[0], c[1], c[2]); a != c[3] || b != c[4] {
			t.Errorf("philox(%x, %x, %x) = %x, %x; want %x, %x", c[0], c[1], c[2], a, b, c[3], c[4])
		}
	}
}

func TestGreedy(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      Params
		logits []float32
		output []gpu.Token // history is prompt {0} and this
		want   gpu.Token
	}{
		{"largest", Params{}, []float32{1, 3, 2}, nil, 1},
		{"lowest id on a tie", Params{}, []float32{1, 3, 3}, nil, 1},
		{"all negative", Params{}, []float32{-5, -3, -4}, nil, 1},
		{"NaN is never chosen", Params{}, []float32{nan, 1, nan, 2}, nil, 3},
		{"+Inf wins", Params{}, []float32{5, inf, inf}, nil, 1},
		{"nothing to choose", Params{}, []float32{nan, -inf}, nil, NoToken},
		{"row longer than the vocabulary", Params{}, []float32{1, 2, 0, 0, 0, 0, 0, 0, 9}, nil, 1},
		{"bias", Params{LogitBias: map[gpu.Token]float64{2: 5, 77: 100, -1: 9}}, []float32{1, 3, 2}, nil, 2},
		{"repetition divides a positive logit of the prompt", Params{RepetitionPenalty: 2}, []float32{3, 2, 1}, nil, 1},
		{"repetition multiplies a negative one", Params{RepetitionPenalty: 2}, []float32{-3, -4, -9}, nil, 1},
		{"repetition below 1 rewards", Params{RepetitionPenalty: 0.5}, []float32{2, 3, 1}, nil, 0},
		{"presence counts once, and not the prompt", Params{PresencePenalty: 1.5}, []float32{3, 4, 1}, []gpu.Token{1, 1, 1}, 0},
		{"presence leaves the prompt alone", Params{PresencePenalty: 1.5}, []float32{3, 2, 1}, nil, 0},
		{"frequency counts each", Params{FrequencyPenalty: 0.5}, []float32{3, 4.4, 1}, []gpu.Token{1, 1, 1}, 0},
		{"frequency below the difference", Params{FrequencyPenalty: 0.4}, []float32{3, 4.4, 1}, []gpu.Token{1, 1, 1}, 1},
		{"a token outside the vocabulary in the history", Params{FrequencyPenalty: 1}, []float32{1, 2}, []gpu.Token{-1, 99}, 1},
	} {
		before := slices.Clone(c.logits)
		history := append([]gpu.Token{0}, c.output...)
		got := NewSampler(c.p, 8).Sample(c.logits, len(c.output), history)
		if got != c.want {
			t.Errorf("%s: got token %d, want %d", c.name, got, c.want)
		}
		for i := range before {
			if math.Float32bits(before[i]) != math.Float32bits(c.logits[i]) {
				t.Errorf("%s: Sample changed logit %d", c.name, i)
			}
		}
	}
}

// What may be drawn, and what may not, at the edges of the truncations. Probabilities: 0.4, 0.3, 0.2, 0.1.
func TestTruncationEdges(t *testing.T) {
	row := logs(0.2, 0.4, 0.1, 0.3)
	tie := []float32{1, 1, 1, 1}
	for _, c := range []struct {
		name   string
		p      Params
		logits []float32
		want   []gpu.Token
	}{
		{"off", Params{}, row, []gpu.Token{0, 1, 2, 3}},
		{"top-k 1", Params{TopK: 1}, row, []gpu.Token{1}},
		{"top-k 3", Params{TopK: 3}, row, []gpu.Token{0, 1, 3}},
		{"top-k of the vocabulary", Params{TopK: 4}, row, []gpu.Token{0, 1, 2, 3}},
		{"top-k beyond it", Params{TopK: 99}, row, []gpu.Token{0, 1, 2, 3}},
		{"top-k keeps k on ties, lowest ids", Params{TopK: 2}, tie, []gpu.Token{0, 1}},
		{"top-p tiny keeps the best", Params{TopP: 1e-9}, row, []gpu.Token{1}},
		{"top-p needs two", Params{TopP: 0.5}, row, []gpu.Token{1, 3}},
		{"top-p needs three", Params{TopP: 0.75}, row, []gpu.Token{0, 1, 3}},
		{"top-p 1 is off", Params{TopP: 1}, row, []gpu.Token{0, 1, 2, 3}},
		{"top-p on ties, lowest ids", Params{TopP: 0.6}, tie, []gpu.Token{0, 1, 2}},
		{"top-p of what top-k left", Params{TopK: 2, TopP: 0.5}, row, []gpu.Token{1}},
		{"top-p just above it", Params{TopK: 2, TopP: 0.6}, row, []gpu.Token{1, 3}},
		{"min-p", Params{MinP: 0.45}, row, []gpu.Token{0, 1, 3}},
		{"min-p 1 keeps the best", Params{MinP: 1}, row, []gpu.Token{1}},
		{"min-p after top-k", Params{TopK: 3, MinP: 0.6}, row, []gpu.Token{1, 3}},
		{"top-p of what min-p left", Params{MinP: 0.6, TopP: 0.5}, row, []gpu.Token{1}},
		{"+Inf with top-k", Params{TopK: 3}, []float32{1, inf, 2, inf}, []gpu.Token{1, 3}},
		{"+Inf with top-p", Params{TopP: 0.9}, []float32{1, inf, 2, inf}, []gpu.Token{1, 3}},
		{"+Inf with min-p", Params{MinP: 0.1}, []float32{1, inf, 2, 3}, []gpu.Token{1}},
		{"NaN and -Inf with top-k", Params{TopK: 3}, []float32{nan, 1, -inf, 1}, []gpu.Token{1, 3}},
		{"NaN and -Inf with top-p", Params{TopP: 0.99}, []float32{nan, 1, -inf, 1}, []gpu.Token{1, 3}},
		{"NaN and -Inf alone", Params{}, []float32{nan, 1, -inf, 1}, []gpu.Token{1, 3}},
		{"nothing", Params{TopK: 2}, []float32{nan, -inf, nan}, []gpu.Token{NoToken}},
	} {
		p := c.p
		p.Temperature = 1
		var got []gpu.Token
		for seed := range uint64(400) {
			p.Seed = seed
			got = append(got, NewSampler(p, len(c.logits)).Sample(c.logits, 0, nil))
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: drew %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTinyTemperatureIsGreedyButFinite(t *testing.T) {
	s := NewSampler(Params{Temperature: 1e-300, TopP: 0.9}, 3)
	for i := range 100 {
		if got := s.Sample([]float32{1, 1.0001, -3}, i, nil); got != 1 {
			t.Fatalf("drew %d", got)
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	if testing.CoverMode() != "" || raceEnabled {
		t.Skip("sync.Pool drops items at random under the race detector")
	}
	row := make([]float32, 1000)
	history := []gpu.Token{1, 2, 3}
	for _, p := range []Params{{}, {Temperature: 1}, {Temperature: 1, TopP: 0.9}, {Temperature: 1, TopP: 0.9, TopK: 50, FrequencyPenalty: 1}} {
		s := NewSampler(p, len(row))
		s.Sample(row, 0, history)
		if n := testing.AllocsPerRun(100, func() { s.Sample(row, 1, history) }); n > 0 {
			t.Errorf("%+v: %v allocations a token", p, n)
		}
	}
}

// logs turns probabilities into logits.
func logs(p ...float64) []float32 {
	out := make([]float32, len(p))
	for i, x := range p {
		out[i] = float32(math.Log(x))
	}
	return out
}
