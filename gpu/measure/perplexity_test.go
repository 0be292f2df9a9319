package measure

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
)

// loaded is a device on which after each token t the tokens have the probabilities of dist, turned by t.
type loaded struct {
	*sim.Device
	dist  []float64
	shift float32 // added to every logit, which changes nothing
	last  []gpu.Token
}

func (l *loaded) Info() gpu.Info {
	i := l.Device.Info()
	i.VocabSize = len(l.dist)
	return i
}

func (l *loaded) Forward(b *gpu.Batch) error {
	l.last = b.Items[0].Tokens[len(b.Items[0].Tokens)-b.Items[0].Logits:]
	return l.Device.Forward(b)
}

func (l *loaded) Logits(_, i int) ([]float32, error) {
	out := make([]float32, len(l.dist))
	for t, p := range l.dist {
		out[(t+int(l.last[i]))%len(out)] = float32(math.Log(p)) + l.shift
	}
	return out, nil
}

func TestPerplexityOfAKnownDistribution(t *testing.T) {
	dist := []float64{0.5, 0.25, 0.125, 0.125}
	// Each token is its predecessor turned by 0, 1, 2, 3, 0, ...: each of the four probabilities as often.
	text := []gpu.Token{0}
	for i := range 1200 {
		text = append(text, (text[i]+gpu.Token(i%4))%4)
	}
	for _, shift := range []float32{0, 300, -300} {
		d := &loaded{Device: clock(t, sim.Options{ContextTokens: 400}).Device, dist: dist, shift: shift}
		want, n := 0.0, 0
		for i := 1; i < len(text); i++ {
			if i%400 != 0 { // the first token of a window has nothing before it
				want -= math.Log(dist[(i-1)%4])
				n++
			}
		}
		got, err := Perplexity(t.Context(), d, text)
		if err != nil || math.Abs(got-math.Exp(want/float64(n))) > 1e-4 {
			t.Errorf("logits moved by %g: perplexity %g, not %g: %v", shift, got, math.Exp(want/float64(n)), err)
		}
		if d.Held() != 0 {
			t.Errorf("%d tokens are left", d.Held())
		}
	}
	same := make([]gpu.Token, 300)
	even := &loaded{Device: clock(t, sim.Options{}).Device, dist: []float64{0.2, 0.2, 0.2, 0.2, 0.2}}
	if got, err := Perplexity(t.Context(), even, same); err != nil || math.Abs(got-5) > 1e-4 {
		t.Errorf("five tokens alike: %g, %v", got, err)
	}
}

func TestPerplexityOfNothing(t *testing.T) {
	d := clock(t, sim.Options{})
	for n := range 2 {
		if _, err := Perplexity(t.Context(), d, make([]gpu.Token, n)); err == nil {
			t.Errorf("there is one of %d tokens", n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Perplexity(ctx, d, make([]gpu.Token, 9)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
