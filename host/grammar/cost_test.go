package grammar_test

import (
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/grammar"
	"github.com/sluice-dev/sluice/host/server/servertest"
)

// BenchmarkMatcher measures what a grammar costs a token on the installed model's vocabulary: the token that was drawn is allowed
// (check), it is not and all must be masked (mask, which is remembered), and the first time in a state (first).
func BenchmarkMatcher(b *testing.B) {
	dev := servertest.OpenModel(b)
	defer dev.Close()
	v := grammar.NewVocab(dev.Tokenizer(), dev.Info().VocabSize)
	g, err := grammar.Parse(grammar.JSON)
	if err != nil {
		b.Fatal(err)
	}
	text, err := dev.Tokenizer().Encode(`{"name": "Ada", "tags": ["a", "b", {"deep": [1, 2.5, true]}], "text": "a longer text in many words"}`, false)
	if err != nil {
		b.Fatal(err)
	}
	logits := make([]float32, dev.Info().VocabSize)
	for name, each := range map[string]func(m *grammar.Matcher, t gpu.Token){
		"check": func(m *grammar.Matcher, t gpu.Token) {
			if !m.Allows(t) {
				b.Fatalf("token %d is not allowed", t)
			}
		},
		"mask": func(m *grammar.Matcher, _ gpu.Token) { m.Mask(logits) },
	} {
		b.Run(name+"/first", func(b *testing.B) {
			for range b.N {
				m := g.Matcher(v)
				for _, t := range text {
					each(m, t)
					m.Accept(t)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(text)), "ns/token")
		})
	}
}
