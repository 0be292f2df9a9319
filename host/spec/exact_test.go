package spec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// exactDraws is how many requests stand for a distribution.
func exactDraws() uint64 {
	if raceEnabled {
		return draws / 10
	}
	return draws
}

// rowOf is a model: logits by what was written last.
type rowOf func(history []gpu.Token) []float32

// target is a model of five tokens with a memory of one token.
func target(history []gpu.Token) []float32 {
	return [][]float32{
		{1, 0.2, -1, 0.7, -0.3}, {0, 2, 0, -2, 1}, {-1, -1, 1, 0.5, 0}, {0.5, 0, 0, 0, 0.1}, {2, -3, 0.4, 0.4, 1.1},
	}[history[len(history)-1]]
}

// The drafters that the target meets: those that guess well, and those that are wrong in each way.
var drafters = map[string]rowOf{
	"equal":    target,
	"opposite": func(h []gpu.Token) []float32 { return scale(target(h), -1) },
	"sharper":  func(h []gpu.Token) []float32 { return scale(target(h), 4) },
	"flat":     func([]gpu.Token) []float32 { return make([]float32, 5) },
	"never the best": func(h []gpu.Token) []float32 {
		row := slices.Clone(target(h))
		row[argmax(row)] = -inf
		return row
	},
	"only the worst": func(h []gpu.Token) []float32 {
		worst := argmax(scale(target(h), -1))
		row := []float32{-inf, -inf, -inf, -inf, -inf}
		row[worst] = 1
		return row
	},
	"two that change": func(h []gpu.Token) []float32 {
		row := []float32{-inf, -inf, -inf, -inf, -inf}
		row[len(h)%5], row[(len(h)+2)%5] = 0, 1
		return row
	},
}

func scale(row []float32, by float32) []float32 {
	out := slices.Clone(row)
	for i := range out {
		out[i] *= by
	}
	return out
}

// round drafts up to k tokens and verifies them, as the engine does with a model beside the device.
func round(t testing.TB, s *Sampler, p *Picker, draft rowOf, k, index int, least float64, history *[]gpu.Token) {
	p.Begin(*history, index, least)
	text := slices.Clone(*history)
	for i := range k {
		x := p.Pick(i, draft(text))
		if x < 0 {
			break
		}
		text = append(text, x)
	}
	d := p.Draft()
	known := len(*history)
	if !slices.Equal(d.Tokens, text[known:]) || len(d.Q) != len(d.Tokens) {
		t.Fatalf("the picker says %v, and picked %v", d.Tokens, text[known:])
	}
	_, err := Verify(s, func(i int) ([]float32, error) { return target(text[:known+i]), nil }, d, index, history)
	if err != nil {
		t.Fatal(err)
	}
}

// joint counts the first two tokens of many requests, and returns what Sample's own distribution says of them.
func joint(t testing.TB, p, draftWith Params, draft rowOf, k int, least float64) (counts []int, want []float64) {
	prompt := []gpu.Token{3, 0}
	counts, want = make([]int, 25), make([]float64, 25)
	s := NewSampler(p, 5)
	var first, second Dist
	s.Dist(&first, target(prompt), 0, prompt)
	for a := range gpu.Token(5) {
		text := append(slices.Clone(prompt), a)
		s.Dist(&second, target(text), 1, text)
		for b := range gpu.Token(5) {
			want[a*5+b] = first.Prob(a) * second.Prob(b)
		}
	}
	for seed := range exactDraws() {
		p.Seed, draftWith.Seed = seed, seed
		s, picker := NewSampler(p, 5), NewPicker(draftWith, 5, nil)
		history := slices.Clone(prompt)
		for len(history) < 4 {
			round(t, s, picker, draft, k, len(history)-2, least, &history)
		}
		counts[history[2]*5+history[3]]++
	}
	return counts, want
}

// Two tokens written with drafts have the joint distribution of two written without, whatever the drafter and the number of drafts.
func TestSampledDraftsDoNotChangeTheDistribution(t *testing.T) {
	for name, draft := range drafters {
		for k := 1; k <= 4; k++ {
			t.Run(fmt.Sprintf("%s,k=%d", name, k), func(t *testing.T) {
				t.Parallel()
				p := Params{Temperature: 1}
				counts, want := joint(t, p, p, draft, k, 0)
				chiSquare(t, name, counts, want)
			})
		}
	}
}

// The same under every parameter that shapes the distribution, with drafts drawn under the same, and under others.
func TestSampledDraftsUnderAllParameters(t *testing.T) {
	for i, p := range []Params{
		{Temperature: 0.6},
		{Temperature: 1.5, TopK: 3},
		{Temperature: 1, TopP: 0.7},
		{Temperature: 1, MinP: 0.3},
		{Temperature: 1.2, TopK: 4, MinP: 0.05, TopP: 0.9},
		{Temperature: 1, RepetitionPenalty: 1.5, PresencePenalty: 0.7, FrequencyPenalty: 0.4},
		{Temperature: 0.9, TopP: 0.8, FrequencyPenalty: -0.5, LogitBias: map[gpu.Token]float64{0: -2, 4: 1}},
		{Temperature: 1, TopK: 1},
	} {
		for _, draftWith := range []Params{p, {Temperature: 1.3, TopK: 2, PresencePenalty: -1}} {
			t.Run(fmt.Sprintf("%+v,%+v", p, draftWith), func(t *testing.T) {
				t.Parallel()
				counts, want := joint(t, p, draftWith, drafters["sharper"], 1+i%4, 0)
				chiSquare(t, p, counts, want)
			})
		}
	}
}

// Drafting that stops where the drafter is unsure stops by its row and not by its draw, so the text stays what it was.
func TestStoppingWhereUnsureDoesNotChangeTheDistribution(t *testing.T) {
	p := Params{Temperature: 1}
	counts, want := joint(t, p, p, target, 4, 0.45)
	chiSquare(t, p, counts, want)
}

// At temperature 0 a draft is accepted exactly when it is the best token.
func TestGreedyDrafts(t *testing.T) {
	for name, draft := range drafters {
		for k := 1; k <= 4; k++ {
			s, p := NewSampler(Params{}, 5), NewPicker(Params{}, 5, nil)
			history, plain := []gpu.Token{3, 0}, []gpu.Token{3, 0}
			rounds := 0
			for len(history) < 42 {
				round(t, s, p, draft, k, len(history)-2, 0, &history)
				rounds++
			}
			for len(plain) < len(history) {
				plain = append(plain, argmax(target(plain)))
			}
			if !slices.Equal(history, plain) {
				t.Errorf("%s, k %d: wrote %v, not %v", name, k, history, plain)
			}
			if full := (40 + k) / (k + 1); name == "equal" && rounds != full {
				t.Errorf("%s, k %d: %d rounds for 40 tokens, not %d: drafts were refused", name, k, rounds, full)
			}
		}
	}
}

// With q = p every draft is accepted; where they have nothing in common, none.
func TestAcceptanceOfEqualAndDisjoint(t *testing.T) {
	row := []float32{1, 0.5, 0, -inf, -inf}
	other := []float32{-inf, -inf, -inf, 0, 1}
	for i := range 10_000 {
		p := Params{Temperature: 1, Seed: uint64(i)}
		for _, c := range []struct {
			draft []float32
			want  int
		}{{row, 2}, {other, 1}} {
			picker := NewPicker(p, 5, nil)
			picker.Begin([]gpu.Token{0}, 0, 0)
			picker.Pick(0, c.draft)
			history := []gpu.Token{0}
			n, err := Verify(NewSampler(p, 5), func(int) ([]float32, error) { return row, nil }, picker.Draft(), 0, &history)
			if err != nil || n != c.want {
				t.Fatalf("seed %d: %d tokens, not %d: %v", i, n, c.want, err)
			}
		}
	}
}

// The chance of acceptance is the mass that p and q share, the most that any exact rule can have.
func TestAcceptanceIsTheSharedMass(t *testing.T) {
	draft := drafters["opposite"]
	prompt := []gpu.Token{0}
	var p, q Dist
	params := Params{Temperature: 1}
	NewSampler(params, 5).Dist(&p, target(prompt), 0, prompt)
	NewSampler(params, 5).Dist(&q, draft(prompt), 0, prompt)
	shared := 0.0
	for x := range gpu.Token(5) {
		shared += math.Min(p.Prob(x), q.Prob(x))
	}
	counts := make([]int, 2)
	for seed := range exactDraws() {
		params.Seed = seed
		picker, history := NewPicker(params, 5, nil), slices.Clone(prompt)
		round(t, NewSampler(params, 5), picker, draft, 1, 0, 0, &history)
		counts[min(len(history)-2, 1)]++
	}
	chiSquare(t, "rejected, accepted", counts, []float64{1 - shared, shared})
}

// wrongRule judges one sampled draft.
type wrongRule func(p, q *Dist, x gpu.Token, seed uint64) gpu.Token

// The rules that look right and are not differ from the distribution by far: the tests above would catch them.
func TestWrongRulesAreCaught(t *testing.T) {
	again := func(p *Dist, seed uint64) gpu.Token { return p.Draw(uniform(seed, streamResidual, 0)) }
	rules := map[string]wrongRule{
		"accept what equals a draw, else draw from the rest": func(p, q *Dist, x gpu.Token, seed uint64) gpu.Token {
			if p.Draw(uniform(seed, streamToken, 0)) == x {
				return x
			}
			return new(scratch).residual(p, q, uniform(seed, streamResidual, 0))
		},
		"accept what equals a draw, else draw afresh": func(p, q *Dist, x gpu.Token, seed uint64) gpu.Token {
			if p.Draw(uniform(seed, streamToken, 0)) == x {
				return x
			}
			return again(p, seed)
		},
		"accept by p/q, else draw afresh": func(p, q *Dist, x gpu.Token, seed uint64) gpu.Token {
			if uniform(seed, streamAccept, 0)*q.Prob(x) < p.Prob(x) {
				return x
			}
			return again(p, seed)
		},
		"drop a draft for what it is": func(p, q *Dist, x gpu.Token, seed uint64) gpu.Token {
			if x == 0 { // as if it were the end of the text
				return p.Draw(uniform(seed, streamToken, 0))
			}
			if uniform(seed, streamAccept, 0)*q.Prob(x) < p.Prob(x) {
				return x
			}
			return new(scratch).residual(p, q, uniform(seed, streamResidual, 0))
		},
	}
	prompt := []gpu.Token{0}
	var p, q Dist
	s := NewSampler(Params{Temperature: 1}, 5)
	s.Dist(&p, target(prompt), 0, prompt)
	s.Dist(&q, drafters["sharper"](prompt), 0, prompt)
	want := make([]float64, 5)
	for x := range want {
		want[x] = p.Prob(gpu.Token(x))
	}
	for name, rule := range rules {
		counts := make([]int, 5)
		for seed := range exactDraws() {
			x := q.Draw(uniform(seed, draftStream(0), 0))
			counts[rule(&p, &q, x, seed)]++
		}
		if z := deviation(counts, want); z < 2*limit {
			t.Errorf("%s: z is %.1f, which the tests would let pass", name, z)
		}
	}
}

// A drafter never drafts what ends the text, and its distribution says so.
func TestPickerKeepsEndsOut(t *testing.T) {
	for _, p := range []Params{{Temperature: 1}, {Temperature: 1, TopP: 0.9}, {}} {
		picker := NewPicker(p, 5, func(t gpu.Token) bool { return t == 0 })
		picker.Begin([]gpu.Token{1}, 0, 0)
		if x := picker.Pick(0, []float32{3, 1, 1, 1, 1}); x != NoToken || len(picker.Draft().Tokens) != 0 {
			t.Errorf("%+v: drafts %d where the end is the best guess", p, x)
		}
		for seed := range uint64(500) {
			p.Seed = seed
			picker := NewPicker(p, 5, func(t gpu.Token) bool { return t == 0 })
			picker.Begin([]gpu.Token{1}, 0, 0)
			if x := picker.Pick(0, []float32{3, 1, 3.1, 1, 1}); x <= 0 {
				t.Fatalf("%+v: drafts %d", p, x)
			}
			if q := picker.Draft().Q[0].Prob(0); q != 0 {
				t.Fatalf("%+v: the end has a probability of %g", p, q)
			}
		}
	}
	counts, want := endless(t)
	chiSquare(t, "with ends kept out", counts, want)
}

// endless counts the first token of many requests whose drafter must not draft token 0.
func endless(t *testing.T) (counts []int, want []float64) {
	prompt := []gpu.Token{0}
	var dist Dist
	NewSampler(Params{Temperature: 1}, 5).Dist(&dist, target(prompt), 0, prompt)
	counts, want = make([]int, 5), make([]float64, 5)
	for x := range want {
		want[x] = dist.Prob(gpu.Token(x))
	}
	for seed := range exactDraws() {
		p := Params{Temperature: 1, Seed: seed}
		history := slices.Clone(prompt)
		draft := func([]gpu.Token) []float32 { return []float32{1, 1.1, 0, 0, 0} }
		round(t, NewSampler(p, 5), NewPicker(p, 5, func(t gpu.Token) bool { return t == 0 }), draft, 1, 0, 0, &history)
		counts[history[1]]++
	}
	return counts, want
}

func TestPickerStopsBelowAProbability(t *testing.T) {
	row := logs(0.6, 0.3, 0.1)
	for _, c := range []struct {
		p     Params
		least float64
		stops bool
	}{
		{Params{}, 0, false}, {Params{}, 0.5, false}, {Params{}, 0.7, true},
		{Params{Temperature: 1}, 0.5, false}, {Params{Temperature: 1}, 0.7, true}, {Params{Temperature: 0.5}, 0.7, false},
	} {
		p := NewPicker(c.p, 3, nil)
		p.Begin([]gpu.Token{0}, 0, c.least)
		if stops := p.Pick(0, row) == NoToken; stops != c.stops {
			t.Errorf("%+v, below %g: stops is %v", c.p, c.least, stops)
		}
	}
}
