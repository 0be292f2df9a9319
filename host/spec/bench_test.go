package spec

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// One token of a vocabulary of 49,152, as SmolLM2's.
func BenchmarkSample(b *testing.B) {
	row := make([]float32, 49152)
	for i := range row {
		row[i] = float32(uniform(1, 0, i)+uniform(2, 0, i)+uniform(3, 0, i)-1.5) * 10
	}
	history := make([]gpu.Token, 2000)
	for i := range history {
		history[i] = gpu.Token(i * 7)
	}
	for _, p := range []Params{
		{},
		{RepetitionPenalty: 1.1},
		{Temperature: 1},
		{Temperature: 1, TopK: 40},
		{Temperature: 1, TopP: 0.95},
		{Temperature: 1, MinP: 0.05},
	} {
		b.Run(fmt.Sprintf("t=%g,k=%d,p=%g,min=%g,rep=%g", p.Temperature, p.TopK, p.TopP, p.MinP, p.RepetitionPenalty), func(b *testing.B) {
			s := NewSampler(p, len(row))
			b.ReportAllocs()
			for i := range b.N {
				s.Sample(row, i, history)
			}
		})
	}
}

func BenchmarkNGramDraft(b *testing.B) {
	history := make([]gpu.Token, 4000, 4000+b.N)
	for i := range history {
		history[i] = gpu.Token(i % 997)
	}
	var g NGram
	var out []gpu.Token
	b.ReportAllocs()
	for i := range b.N {
		history = append(history, gpu.Token(i%1009))
		out = g.Draft(history, 8, 2, 4, out[:0])
	}
}
