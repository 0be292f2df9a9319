package llama

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// manyPrompts are prompts and lengths that make sequences end at different times.
func manyPrompts(n int, prompt func(i int) []gpu.Token) (prompts [][]gpu.Token, limits []int) {
	for i := range n {
		prompts, limits = append(prompts, prompt(i)), append(limits, 12+(i*7)%17)
	}
	return prompts, limits
}

func TestMTPDraftsOfAMarkovModelAreAllAccepted(t *testing.T) {
	for _, c := range []struct {
		layout string
		slots  int
	}{{LayoutSplit, 1}, {LayoutSplit, 16}, {LayoutUnified, 16}} {
		t.Run(fmt.Sprintf("%s, batch %d", c.layout, c.slots), func(t *testing.T) {
			d := open(t, both(mtp(t, mtpMarkov), func(o *Options) { o.MaxSeqs, o.KVTokens, o.KVLayout = 16, 4096, c.layout }))
			g := decoder{t: t, dev: d, slots: c.slots, k: 4, chunk: 8}
			prompts, limits := manyPrompts(16, func(i int) []gpu.Token { return counting(i, 3+i) })
			g.run(prompts, limits)
			t.Logf("accepted %v of %v", g.accepted, g.tried)
			for i := 1; i <= g.k; i++ {
				// The last row of a sequence is cut by its length, which no draft is to blame for.
				if g.accepted[i] != g.tried[i] || g.tried[i] == 0 {
					t.Errorf("place %d: %d of %d drafts accepted", i, g.accepted[i], g.tried[i])
				}
			}
		})
	}
}

func TestMTPTextEqualsPlainDecoding(t *testing.T) {
	open4 := func() *Device { return open(t, both(mtp(t, mtpRandom), func(o *Options) { o.KVTokens = 4096 })) }
	prompts, limits := manyPrompts(9, func(i int) []gpu.Token { return counting(i, 2+3*i) })
	want := (&decoder{t: t, dev: open4(), slots: 1, chunk: 100}).run(prompts, limits)
	for k := 1; k <= 8; k++ {
		g := decoder{t: t, dev: open4(), slots: 4, k: k, chunk: 7}
		if got := g.run(prompts, limits); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("k %d: the text is another one", k)
		}
		t.Logf("k %d: accepted %v of %v", k, g.accepted, g.tried)
	}
}

func textPrompts(t testing.TB, d *Device) ([][]gpu.Token, []int) {
	texts := []string{
		"The capital of France is", "One, two, three, four,", "Once upon a time there was a small town by the sea, where",
		"Water boils at", "def add(a, b):\n", "The sky is blue because", "Monday, Tuesday, Wednesday,", "A cat is a small animal that",
		"In 1969, men landed on", "To make tea, first", "The three primary colours are", "My favourite book is", "A triangle has three",
		"The opposite of hot is", "Paris, London, Berlin,", "Plants need light, water and",
	}
	return manyPrompts(len(texts), func(i int) []gpu.Token { return encode(t, d, texts[i]) })
}

func TestEAGLE3TextAndCountsDoNotDependOnTheBatch(t *testing.T) {
	open8 := func(change func(*Options)) *Device {
		return open(t, both(func(o *Options) { o.MaxSeqs, o.KVTokens = 8, 2048 }, change))
	}
	plain := open8(split)
	prompts, limits := textPrompts(t, plain)
	prompts, limits = prompts[:10], limits[:10]
	want := (&decoder{t: t, dev: plain, slots: 1, chunk: 100}).run(prompts, limits)
	var first *decoder
	for _, slots := range []int{1, 2, 3, 5, 8} {
		g := &decoder{t: t, dev: open8(eagle(t)), slots: slots, k: 4, chunk: 6}
		if got := g.run(prompts, limits); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("batch %d: the text is another one", slots)
		}
		t.Logf("batch %d: accepted %v of %v in %d steps", slots, g.accepted, g.tried, g.forwards)
		if first == nil {
			first = g
		}
		if !slices.Equal(g.accepted, first.accepted) || !slices.Equal(g.tried, first.tried) {
			t.Errorf("batch %d: accepted %v of %v, at batch 1 %v of %v", slots, g.accepted, g.tried, first.accepted, first.tried)
		}
		if 10*g.accepted[1] < 3*g.tried[1] {
			t.Errorf("batch %d: only %d of %d first drafts accepted", slots, g.accepted[1], g.tried[1])
		}
	}
}

func TestDraftModelTextEqualsPlainDecoding(t *testing.T) {
	_, published, fast := testPaths(t)
	plain := open(t, split)
	prompts, limits := textPrompts(t, plain)
	want := (&decoder{t: t, dev: plain, slots: 1, chunk: 100}).run(prompts, limits)
	accepted := map[string][]int{} // by file, at the first size of the batch
	for _, c := range []struct {
		file  string
		slots int
		share int // of first drafts accepted, percent
	}{{fast, 4, 100}, {published, 1, 60}, {published, 4, 60}} {
		g := decoder{t: t, dev: open(t, draftModel(c.file)), slots: c.slots, k: 3, chunk: 6}
		if got := g.run(prompts, limits); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s, batch %d: the text is another one", c.file, c.slots)
		}
		t.Logf("batch %d: accepted %v of %v in %d steps", c.slots, g.accepted, g.tried, g.forwards)
		if accepted[c.file] == nil {
			accepted[c.file] = g.accepted
		}
		if !slices.Equal(g.accepted, accepted[c.file]) {
			t.Errorf("%s, batch %d: accepted %v, at another size %v", c.file, c.slots, g.accepted, accepted[c.file])
		}
		if 100*g.accepted[1] < c.share*g.tried[1] {
			t.Errorf("%s: only %d of %d first drafts accepted", c.file, g.accepted[1], g.tried[1])
		}
	}
}
