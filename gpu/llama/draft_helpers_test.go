package llama

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// Models for tests of drafters. They are not part of set-up.
const (
	eagleHead = "eagle3-smollm2-135m-q8_0.gguf"
	mtpMarkov = "mtp-tiny-glm4moe-markov.gguf" // every draft must be accepted
	mtpRandom = "mtp-tiny-glm4moe-random.gguf" // almost none is
)

// headFile finds one of them in SLUICE_TEST_HEADS, or in a folder shared/models above this one, or skips.
func headFile(t testing.TB, name string) string {
	t.Helper()
	var dirs []string
	if dir := os.Getenv("SLUICE_TEST_HEADS"); dir != "" {
		dirs = append(dirs, dir)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, filepath.Join(dir, "shared", "models"))
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	t.Skipf("no %s: set SLUICE_TEST_HEADS to the folder that holds it", name)
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func eagle(t testing.TB) func(*Options) {
	file := headFile(t, eagleHead)
	return func(o *Options) { o.Drafter, o.DraftModel, o.KVLayout = DrafterEAGLE3, file, LayoutSplit }
}

func mtp(t testing.TB, name string) func(*Options) {
	file := headFile(t, name)
	return func(o *Options) {
		o.ModelPath, o.Drafter, o.noTokenizer, o.KVLayout = file, DrafterMTP, true, LayoutSplit
	}
}

func draftModel(file string) func(*Options) {
	return func(o *Options) { o.Drafter, o.DraftModel, o.KVLayout = DrafterModel, file, LayoutSplit }
}

// both applies one change after the other.
func both(changes ...func(*Options)) func(*Options) {
	return func(o *Options) {
		for _, c := range changes {
			c(o)
		}
	}
}

// decoder is a small decode loop: greedy, continuous batching over slots, prompts in chunks, drafts verified.
type decoder struct {
	t     testing.TB
	dev   *Device
	slots int
	k     int // most drafts; 0 = plain decoding
	chunk int // prompt tokens in a step

	tried, accepted []int // drafts by their place in the row, from 1
	forwards        int
}

type stream struct {
	index, prompt, limit int
	tokens               []gpu.Token // known
	held                 int
	draft                []gpu.Token
}

// run gives the tokens after each prompt; limits[i] of them for prompt i.
func (g *decoder) run(prompts [][]gpu.Token, limits []int) [][]gpu.Token {
	g.t.Helper()
	g.tried, g.accepted = make([]int, g.k+1), make([]int, g.k+1)
	out := make([][]gpu.Token, len(prompts))
	live, next := make([]*stream, g.slots), 0
	for {
		busy := false
		for s := range live {
			if live[s] == nil && next < len(prompts) {
				live[s] = &stream{index: next, prompt: len(prompts[next]), limit: limits[next], tokens: slices.Clone(prompts[next])}
				next++
			}
			busy = busy || live[s] != nil
		}
		if !busy {
			return out
		}
		g.draft(live)
		g.step(live)
		for s, x := range live {
			if x != nil && len(x.tokens)-x.prompt >= x.limit {
				out[x.index], live[s] = x.tokens[x.prompt:][:x.limit], nil
				g.must(g.dev.Trim(s, 0))
			}
		}
	}
}

func (g *decoder) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *decoder) draft(live []*stream) {
	if g.k == 0 {
		return
	}
	var rows []gpu.DraftRow
	for s, x := range live {
		if x != nil && x.held >= x.prompt {
			rows = append(rows, gpu.DraftRow{Seq: s, History: x.tokens, Max: min(g.k, x.limit-(len(x.tokens)-x.prompt))})
		}
	}
	g.must(g.dev.Drafter().Draft(rows))
	for _, r := range rows {
		live[r.Seq].draft = r.Draft
	}
}

func (g *decoder) step(live []*stream) {
	var b gpu.Batch
	for s, x := range live {
		if x == nil {
			continue
		}
		it := gpu.Item{Seq: s, Pos: x.held, Logits: 1}
		if left := len(x.tokens) - x.held; left > g.chunk {
			it.Tokens, it.Logits = x.tokens[x.held:][:g.chunk], 0
		} else if x.held < x.prompt {
			it.Tokens = x.tokens[x.held:]
		} else {
			it.Tokens = slices.Concat(x.tokens[x.held:], x.draft)
			it.Logits = len(it.Tokens)
		}
		b.Items = append(b.Items, it)
	}
	g.must(g.dev.Forward(&b))
	g.forwards++
	kept := make([]int, len(b.Items))
	for i := range b.Items {
		kept[i] = g.verify(i, &b.Items[i], live[b.Items[i].Seq])
	}
	if g.dev.draft != nil {
		g.must(g.dev.Drafter().Observe(&b, kept))
	}
	for i := range b.Items {
		it := &b.Items[i]
		g.must(g.dev.Trim(it.Seq, it.Pos+kept[i]))
	}
}

// verify appends what the model says to x and gives the number of the item's tokens that stay.
func (g *decoder) verify(i int, it *gpu.Item, x *stream) int {
	if it.Logits == 0 {
		x.held += len(it.Tokens)
		return len(it.Tokens)
	}
	agreed := 0
	for j := range it.Logits {
		l, err := g.dev.Logits(i, j)
		g.must(err)
		next := argmax(l)
		x.tokens = append(x.tokens, next)
		if j < len(x.draft) {
			g.tried[j+1]++
			if x.draft[j] == next {
				g.accepted[j+1]++
				agreed++
				continue
			}
		}
		break
	}
	kept := len(it.Tokens) - len(x.draft) + agreed
	x.held, x.draft = x.held+kept, nil
	return kept
}

// counting is a prompt for a model without a tokenizer.
func counting(first, n int) []gpu.Token {
	out := make([]gpu.Token, n)
	for i := range out {
		out[i] = gpu.Token(1 + (first*37+i*11)%500)
	}
	return out
}
