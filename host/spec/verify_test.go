package spec

import (
	"errors"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

// model is a device whose logits are a pure function of the tokens so far, as a real one's are.
type model struct {
	vocab int
	seed  uint64
	flat  bool // small logits: every token is likely, and most drafts fail
}

func (m model) row(history []gpu.Token) []float32 {
	key := m.seed
	for _, t := range history[max(len(history)-3, 0):] { // a short memory, so that texts repeat and drafts succeed
		key, _ = philox(uint64(t), 1, key)
	}
	row := make([]float32, m.vocab)
	for i := range row {
		row[i] = float32(uniform(key, streamToken, i) * 12)
		if m.flat {
			row[i] /= 10
		}
	}
	return row
}

// decode runs n output tokens with k drafts a step; k(step) may change.
func decode(t *rapid.T, m model, p Params, prompt []gpu.Token, n int, d Drafter, k func(step int) int) []gpu.Token {
	s := NewSampler(p, m.vocab)
	history := slices.Clone(prompt)
	for step := 0; len(history) < len(prompt)+n; step++ {
		index := len(history) - len(prompt)
		draft := d.Draft(history, min(k(step), n-index-1), 1, 4, nil)
		known := slices.Concat(history, draft)
		before := len(history)
		emitted, err := Verify(s, func(i int) ([]float32, error) {
			return m.row(known[:before+i]), nil
		}, Draft{Tokens: draft}, index, &history)
		if err != nil {
			t.Fatal(err)
		}
		if emitted < 1 || emitted > len(draft)+1 || len(history) != before+emitted {
			t.Fatalf("%d drafts gave %d tokens, history grew by %d", len(draft), emitted, len(history)-before)
		}
		if !slices.Equal(history[before:before+emitted-1], draft[:emitted-1]) {
			t.Fatalf("emitted %v from draft %v", history[before:], draft)
		}
	}
	return history[len(prompt):]
}

func paramsGen(t *rapid.T) Params {
	pick := func(name string, v ...float64) float64 { return rapid.SampledFrom(v).Draw(t, name) }
	p := Params{
		Temperature:       pick("temperature", 0, 0.5, 1, 1.7),
		TopP:              pick("top_p", 0, 0.5, 0.95, 1),
		TopK:              rapid.IntRange(0, 9).Draw(t, "top_k"),
		MinP:              pick("min_p", 0, 0.05, 0.5),
		RepetitionPenalty: pick("repetition", 0, 1, 1.3, 0.8),
		PresencePenalty:   pick("presence", 0, 0, 0.7, -0.7),
		FrequencyPenalty:  pick("frequency", 0, 0, 0.2, -1),
		Seed:              rapid.Uint64().Draw(t, "seed"),
	}
	if rapid.Bool().Draw(t, "biased") {
		p.LogitBias = map[gpu.Token]float64{0: -100, 2: 3, 5: 0.5, 1: -2}
	}
	return p
}

// The strongest property: the same text with any number of drafts, from a good drafter or from one that lies.
func TestSpeculationDoesNotChangeTheText(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		m := model{rapid.IntRange(1, 40).Draw(t, "vocab"), rapid.Uint64().Draw(t, "model"), rapid.Bool().Draw(t, "flat")}
		p := paramsGen(t)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		prompt := rapid.SliceOfN(rapid.Int32Range(0, int32(m.vocab-1)), 1, 12).Draw(t, "prompt")
		ks := rapid.SliceOfN(rapid.IntRange(0, 15), 1, 8).Draw(t, "k")
		n := 40
		plain := decode(t, m, p, prompt, n, new(NGram), func(int) int { return 0 })
		k := func(step int) int { return ks[step%len(ks)] }
		ngram := &counting{Drafter: new(NGram)}
		if got := decode(t, m, p, prompt, n, ngram, k); !slices.Equal(got, plain) {
			t.Fatalf("n-gram drafts changed the text\n got %v\nwant %v", got, plain)
		}
		accepted += n - ngram.steps
		if got := decode(t, m, p, prompt, n, liar{m.vocab}, k); !slices.Equal(got, plain) {
			t.Fatalf("wrong drafts changed the text\n got %v\nwant %v", got, plain)
		}
	})
	if accepted == 0 {
		t.Error("no draft was ever accepted: the test shows nothing")
	}
}

// counting counts the steps, so that the test can tell whether drafts were accepted at all.
type counting struct {
	Drafter
	steps int
}

func (c *counting) Draft(h []gpu.Token, max, nmin, nmax int, out []gpu.Token) []gpu.Token {
	c.steps++
	return c.Drafter.Draft(h, max, nmin, nmax, out)
}

// liar drafts tokens that have nothing to do with the text.
type liar struct{ vocab int }

func (liar) Reset()             {}
func (liar) Append([]gpu.Token) {}
func (l liar) Draft(h []gpu.Token, max, _, _ int, out []gpu.Token) []gpu.Token {
	for i := range max {
		x, _ := philox(uint64(len(h)), uint64(i), 99)
		out = append(out, gpu.Token(x%uint64(l.vocab)))
	}
	return out
}

func TestVerifyErrors(t *testing.T) {
	s := NewSampler(Params{}, 2)
	bad := errors.New("no such row")
	rows := func(third []float32, err error) func(int) ([]float32, error) {
		return func(i int) ([]float32, error) {
			if i < 2 {
				return []float32{0, 1}, nil
			}
			return third, err
		}
	}
	for _, c := range []struct {
		name string
		rows func(int) ([]float32, error)
		want error
	}{
		{"device", rows(nil, bad), bad},
		{"not a number", rows([]float32{nan, nan}, nil), ErrNoToken},
	} {
		history := []gpu.Token{0}
		n, err := Verify(s, c.rows, Draft{Tokens: []gpu.Token{1, 1, 1}}, 0, &history)
		if !errors.Is(err, c.want) || n != 2 || !slices.Equal(history, []gpu.Token{0, 1, 1}) {
			t.Errorf("%s: %d emitted, history %v, error %v", c.name, n, history, err)
		}
	}
}

func TestVerifyStopsAtTheFirstMismatch(t *testing.T) {
	s := NewSampler(Params{}, 2)
	asked := 0
	history := []gpu.Token{0}
	n, err := Verify(s, func(i int) ([]float32, error) {
		asked++
		return []float32{0, 1}, nil
	}, Draft{Tokens: []gpu.Token{1, 0, 1}}, 0, &history)
	if err != nil || n != 2 || asked != 2 || !slices.Equal(history, []gpu.Token{0, 1, 1}) {
		t.Errorf("%d emitted, %d rows asked for, history %v, error %v", n, asked, history, err)
	}
}
