package llama

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// Every batch here ends the process, hangs it, or is answered with nonsense when llama.cpp gets it.
func TestMalformedBatchesAreRefused(t *testing.T) {
	d := open(t, nil)
	prompt := encode(t, d, "The sky is blue and")
	_, want := alone(t, d, prompt, 0)
	vocab := gpu.Token(d.Info().VocabSize)
	one := []gpu.Token{7}
	many := func(n int) []gpu.Token { return make([]gpu.Token, n) }
	forward(t, d, gpu.Item{Seq: 1, Tokens: prompt})
	n := len(prompt)
	cases := map[string][]gpu.Item{
		"no item":                      {},
		"no token":                     {{Seq: 0}},
		"no token beside others":       {{Seq: 0, Tokens: one}, {Seq: 2}},
		"more tokens than a batch":     {{Seq: 0, Tokens: many(257)}},
		"more tokens in all":           {{Seq: 0, Tokens: many(200)}, {Seq: 2, Tokens: many(57)}},
		"sequence -1":                  {{Seq: -1, Tokens: one}},
		"sequence -2":                  {{Seq: -2, Tokens: one}},
		"sequence past the last":       {{Seq: 4 + d.Info().SpareSeqs, Tokens: one}},
		"more sequences than a step":   {{Seq: 0, Tokens: one}, {Seq: 2, Tokens: one}, {Seq: 3, Tokens: one}, {Seq: 4, Tokens: one}, {Seq: 5, Tokens: one}},
		"sequence 255":                 {{Seq: 255, Tokens: one}},
		"sequence 256":                 {{Seq: 256, Tokens: one}},
		"sequence beyond 32 bits":      {{Seq: 1 << 32, Tokens: one}},
		"sequence twice":               {{Seq: 0, Tokens: one}, {Seq: 0, Pos: 1, Tokens: one}},
		"negative first position":      {{Seq: 0, Pos: -1, Tokens: one}},
		"gap on a fresh sequence":      {{Seq: 0, Pos: 1, Tokens: one}},
		"far position":                 {{Seq: 0, Pos: 1 << 20, Tokens: one}},
		"position beyond 32 bits":      {{Seq: 0, Pos: 1 << 32, Tokens: one}},
		"gap":                          {{Seq: 1, Pos: n + 1, Tokens: one}},
		"position repeated":            {{Seq: 1, Pos: n - 1, Tokens: one}},
		"token -1":                     {{Seq: 0, Tokens: []gpu.Token{1, -1}}},
		"token past the vocabulary":    {{Seq: 0, Tokens: []gpu.Token{vocab}}},
		"token max":                    {{Seq: 0, Tokens: []gpu.Token{math.MaxInt32}}},
		"negative logits":              {{Seq: 0, Tokens: one, Logits: -1}},
		"more logits than tokens":      {{Seq: 0, Tokens: one, Logits: 2}},
		"good item before a wrong one": {{Seq: 1, Pos: n, Tokens: one, Logits: 1}, {Seq: 0, Pos: 3, Tokens: one}},
	}
	for name, items := range cases {
		if err := d.Forward(&gpu.Batch{Items: items}); !errors.Is(err, gpu.ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Forward(nil); !errors.Is(err, gpu.ErrBatch) {
		t.Errorf("nil: %v", err)
	}
	forward(t, d, gpu.Item{Seq: 0, Tokens: prompt, Logits: 1}, gpu.Item{Seq: 1, Pos: n, Tokens: one, Logits: 1})
	if !slices.Equal(row(t, d, 0, 0), want[0]) {
		t.Error("refused batches left something behind")
	}
}

func TestSequencesEndWithTheContext(t *testing.T) {
	d := open(t, func(o *Options) { o.ContextTokens = 100 })
	forward(t, d, gpu.Item{Seq: 0, Tokens: make([]gpu.Token, 99)})
	if err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Pos: 99, Tokens: make([]gpu.Token, 2)}}}); !errors.Is(err, gpu.ErrBatch) {
		t.Errorf("two tokens too many: %v", err)
	}
	forward(t, d, gpu.Item{Seq: 0, Pos: 99, Tokens: make([]gpu.Token, 1), Logits: 1})
}
