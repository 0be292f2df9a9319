package spec

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// parity is a grammar: tokens alternate between odd and even ones, an even one first.
type parity struct {
	accepted []gpu.Token
	masks    int
}

func (g *parity) Allows(t gpu.Token) bool { return int(t)%2 == len(g.accepted)%2 }
func (g *parity) Mask(row []float32) {
	g.masks++
	for i := range row {
		if !g.Allows(gpu.Token(i)) {
			row[i] = -inf
		}
	}
}
func (g *parity) Accept(t gpu.Token) {
	if !g.Allows(t) {
		panic("a token that is not allowed")
	}
	g.accepted = append(g.accepted, t)
}
func (g *parity) Close() {}

// Under a grammar only allowed tokens come, with the probabilities that they have among themselves, with and without drafts.
func TestGrammarRenormalises(t *testing.T) {
	for _, p := range []Params{{Temperature: 1}, {Temperature: 1, TopK: 2}, {Temperature: 1, TopP: 0.6, PresencePenalty: 0.5}} {
		for k := range 3 {
			counts, want := make([]int, 5), make([]float64, 5)
			allowed := slices.Clone(target([]gpu.Token{0}))
			new(parity).Mask(allowed)
			q := p
			q.PresencePenalty = 0 // nothing was written yet
			for i, x := range reference(q, allowed) {
				want[i] = x
			}
			for seed := range exactDraws() / 2 {
				p.Seed = seed
				s, g, history := NewSampler(p, 5), &parity{}, []gpu.Token{0}
				s.Constrain(g)
				round(t, s, NewPicker(p, 5, nil), drafters["sharper"], k, 0, 0, &history)
				if !slices.Equal(g.accepted, history[1:]) {
					t.Fatalf("the grammar was told of %v, and %v was emitted", g.accepted, history[1:])
				}
				counts[history[1]]++
			}
			chiSquare(t, p, counts, want)
		}
	}
}

// A greedy request makes a mask only where its best token is refused.
func TestGreedyUnderAGrammar(t *testing.T) {
	s, g := NewSampler(Params{}, 5), &parity{}
	s.Constrain(g)
	history := []gpu.Token{0}
	rows := [][]float32{{1, 0, 3, 0, 2}, {0, 3, 0, 2, 0}, {0, 9, 0, 0, 1}}
	n, err := Verify(s, func(i int) ([]float32, error) { return rows[i], nil }, Draft{Tokens: []gpu.Token{2, 1}}, 0, &history)
	if err != nil || n != 3 || !slices.Equal(history, []gpu.Token{0, 2, 1, 4}) || g.masks != 1 {
		t.Errorf("%d tokens, history %v, %d masks: %v", n, history, g.masks, err)
	}
	s.Constrain(nil)
	if x := s.Sample(rows[2], 3, history); x != 1 {
		t.Errorf("drew %d after the grammar was taken away", x)
	}
}
