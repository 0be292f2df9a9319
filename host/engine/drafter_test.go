package engine_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
)

// guesser is a drafter beside the simulated device: the same model again, with noise on some rows. It checks what it is told.
type guesser struct {
	target *sim.Device // whose sequences it is asked about
	model  *sim.Device
	noise  uint64 // of ten rows
	fail   func() error

	mu    sync.Mutex
	wrong []string
	seen  int // tokens told to stay
	asked int
}

func (*guesser) Name() string { return "guesser" }

// Observe implements gpu.Drafter. What stays is in the device before what does not stay is cut.
func (g *guesser) Observe(b *gpu.Batch, kept []int) error {
	if len(kept) != len(b.Items) {
		g.complain("%d kept counts for %d items", len(kept), len(b.Items))
		return nil
	}
	for i, it := range b.Items {
		held := g.target.History(it.Seq)
		if kept[i] < 1 || kept[i] > len(it.Tokens) || len(held) < it.Pos+kept[i] || !slices.Equal(held[it.Pos:it.Pos+kept[i]], it.Tokens[:kept[i]]) {
			g.complain("sequence %d: %d of %d tokens from %d stay, and the device holds %d", it.Seq, kept[i], len(it.Tokens), it.Pos, len(held))
		}
		g.seen += kept[i]
	}
	if g.fail != nil {
		return g.fail()
	}
	return nil
}

func (g *guesser) complain(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrong = append(g.wrong, fmt.Sprintf(format, args...))
}

// Draft implements gpu.Drafter.
func (g *guesser) Draft(rows []gpu.DraftRow) error {
	if g.fail != nil {
		if err := g.fail(); err != nil {
			return err
		}
	}
	for i := range rows {
		r := &rows[i]
		g.asked++
		if held := g.target.History(r.Seq); !slices.Equal(held, r.History[:len(r.History)-1]) || r.Max < 1 || r.Pick == nil {
			g.complain("sequence %d: %d known tokens, and the device holds %d", r.Seq, len(r.History), len(held))
		}
		text := slices.Clone(r.History)
		r.Draft = r.Draft[:0]
		for n := range r.Max {
			t := r.Pick(n, g.logits(text))
			if t < 0 {
				break
			}
			r.Draft, text = append(r.Draft, t), append(text, t)
		}
	}
	return nil
}

func (g *guesser) logits(text []gpu.Token) []float32 {
	if err := g.model.Forward(&gpu.Batch{Items: []gpu.Item{{Tokens: text, Logits: 1}}}); err != nil {
		panic(err)
	}
	row, err := g.model.Logits(0, 0)
	if err != nil {
		panic(err)
	}
	if err := g.model.Trim(0, 0); err != nil {
		panic(err)
	}
	if x := uint64(len(text)) * 0x9e3779b97f4a7c15 >> 32; x%10 < g.noise {
		for i := range row {
			row[i] += float32((uint64(i)*x)%7) * 1.5
		}
	}
	return row
}

// beside makes a guesser the engine's drafter.
func beside(t *testing.T, c *engine.Config, noise uint64) *guesser {
	profile, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	g := &guesser{target: c.Device.(*sim.Device), noise: noise,
		model: sim.Open(profile, sim.Options{MaxSeqs: 1, MaxBatchTokens: 512, ContextTokens: 512, KVTokens: 512})}
	c.Drafter = g
	t.Cleanup(func() {
		for _, w := range g.wrong {
			t.Error(w)
		}
	})
	return g
}

// With a drafter the greedy text is the plain one, in companies in which rows end inside a draft, leave, and are preempted.
func TestGreedyTextWithADrafterIsThePlainOne(t *testing.T) {
	alone := start(t, sim.Options{MaxSeqs: 1}, nil)
	for n, c := range companies() {
		var g *guesser
		f := start(t, c.sim, func(ec *engine.Config) { c.conf(ec); g = beside(t, ec, 3) })
		for round := range 6 {
			var wg sync.WaitGroup
			for i := range 8 {
				req := engine.Request{ID: fmt.Sprint(i), Prompt: prompt(strings.Repeat(fmt.Sprintf("text %d ", i%4), 3)), MaxTokens: 5 + (11*i+round*7)%90,
					IgnoreEOS: i%2 == 0, Stop: [][]string{nil, {"th"}}[i%2]}
				s := f.submit(t, req)
				wg.Go(func() {
					if i == 3 {
						<-s.Events()
						s.Cancel()
					}
					got, _ := read(s)
					if want, _ := read(alone.submit(t, req)); i != 3 && got != want {
						t.Errorf("company %d: got %q, want %q", n, got, want)
					}
				})
			}
			wg.Wait()
		}
		s := f.settled(t).Stats
		if s.Accepted == 0 || s.Accepted == s.Drafted || g.seen == 0 || g.asked == 0 {
			t.Errorf("company %d: %d of %d drafts accepted, %d tokens observed: the comparison says little", n, s.Accepted, s.Drafted, g.seen)
		}
	}
}

// Text with drafts that were drawn from another distribution has the model's own: pairs of tokens, by chi-square.
func TestSampledTextWithADrafterHasTheModelsDistribution(t *testing.T) {
	const draws = 3000
	count := func(drafter bool) map[string]int {
		f := start(t, sim.Options{MaxSeqs: 8}, func(c *engine.Config) {
			c.Sched.MaxDraft = 3
			c.Sched.MaxWaiting = draws
			if drafter {
				beside(t, c, 10)
				c.Policies = &source{d: fixedK{3}}
			}
		})
		pairs := map[string]int{}
		var streams []*engine.Stream
		for i := range draws {
			seed := uint64(i)
			if !drafter {
				seed += draws // other draws, or the two samples would not be independent
			}
			streams = append(streams, f.submit(t, engine.Request{ID: fmt.Sprint(i), Prompt: prompt("distribution"), MaxTokens: 5, IgnoreEOS: true,
				Sampling: spec.Params{Temperature: 2, TopK: 4, Seed: seed}}))
		}
		for _, s := range streams {
			text, _ := read(s)
			pairs[text[1:3]]++
		}
		if s := f.settled(t).Stats; drafter && (s.Accepted == 0 || s.Accepted == s.Drafted) {
			t.Errorf("%d of %d drafts accepted", s.Accepted, s.Drafted)
		}
		return pairs
	}
	plain, drafted := count(false), count(true)
	// Two samples of one size: sum of (a-b)^2/(a+b) is chi-square with one degree less than there are cells.
	stat, cells := 0.0, 0
	for pair := range union(plain, drafted) {
		a, b := float64(plain[pair]), float64(drafted[pair])
		if a+b >= 10 {
			stat += (a - b) * (a - b) / (a + b)
			cells++
		}
	}
	// Wilson and Hilferty: the cube root of chi-square over its degrees is nearly normal. 3.7 sigmas are 1 in 10,000.
	k := float64(cells - 1)
	if z := (math.Cbrt(stat/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k)); z > 3.7 || cells < 6 {
		t.Errorf("chi-square %.1f over %d cells, %.1f sigmas", stat, cells, z)
	}
}

func union(a, b map[string]int) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// A drafter that fails costs its drafts, and after a while it is asked no more.
func TestADrafterThatFailsCostsItsDraftsAndNothingElse(t *testing.T) {
	var g *guesser
	failures := 0
	f := start(t, sim.Options{}, func(c *engine.Config) {
		c.Sched.MaxDraft = 4
		c.Policies = &source{d: fixedK{4}}
		g = beside(t, c, 0)
		g.fail = func() error { failures++; return errors.New("out of order") }
	})
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("abcabcabc"), MaxTokens: 100, IgnoreEOS: true})
	got, _ := read(s)
	if s.Result().Outcome != sched.OutcomeLength || s.Result().Accepted != 0 && failures == 0 {
		t.Errorf("ended as %v: %v", s.Result().Outcome, s.Result().Err)
	}
	plain := start(t, sim.Options{}, nil)
	if want, _ := read(plain.submit(t, engine.Request{ID: "a", Prompt: prompt("abcabcabc"), MaxTokens: 100, IgnoreEOS: true})); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if failures != 8 || f.settled(t).Faults.KV != 8 {
		t.Errorf("it failed %d times before it was left alone; %+v", failures, f.settled(t).Faults)
	}
}
