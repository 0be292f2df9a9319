package llama

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

func TestGreedyTextMakesSense(t *testing.T) {
	d := open(t, nil)
	tokens, _ := alone(t, d, encode(t, d, "One, two, three, four,"), 8)
	var text strings.Builder
	for _, tok := range tokens {
		text.Write(d.Tokenizer().Piece(tok))
	}
	if !strings.Contains(text.String(), " five, six") {
		t.Errorf("the model says %q", text.String())
	}
}

// One batch that prefills a part of a prompt, decodes, and verifies drafts gives each sequence what it gets alone.
func TestMixedBatchEqualsSingle(t *testing.T) {
	ref := open(t, split)
	prompts := []string{"The capital of France is", "One, two, three, four,", "Once upon a time there was a small town by the sea, where"}
	var tokens [3][]gpu.Token
	var want [3][][]float32
	var plen [3]int
	for i, p := range prompts {
		toks := encode(t, ref, p)
		plen[i] = len(toks)
		tokens[i], want[i] = alone(t, ref, toks, 4)
	}
	same := func(t *testing.T, d *Device, item, i, seq, step int) {
		t.Helper()
		if !slices.Equal(row(t, d, item, i), want[seq][step]) {
			t.Errorf("sequence %d differs from itself alone after %d tokens", seq, plen[seq]+step)
		}
	}
	for _, layout := range []string{LayoutSplit, LayoutUnified} {
		t.Run(layout, func(t *testing.T) {
			d := open(t, func(o *Options) { o.KVLayout, o.KVType = layout, KVQ8_0 })
			forward(t, d, gpu.Item{Seq: 3, Tokens: tokens[0][:plen[0]], Logits: 1}, gpu.Item{Seq: 1, Tokens: tokens[1][:plen[1]], Logits: 1})
			same(t, d, 0, 0, 0, 0)
			same(t, d, 1, 0, 1, 0)
			half := plen[2] / 2
			forward(t, d,
				gpu.Item{Seq: 0, Tokens: tokens[2][:half]},
				gpu.Item{Seq: 3, Pos: plen[0], Tokens: tokens[0][plen[0] : plen[0]+1], Logits: 1},
				gpu.Item{Seq: 1, Pos: plen[1], Tokens: tokens[1][plen[1] : plen[1]+3], Logits: 3})
			same(t, d, 1, 0, 0, 1)
			for k := range 3 {
				same(t, d, 2, k, 1, 1+k)
			}
			// Two drafts are taken back, the rest goes on from there.
			if err := d.Trim(1, plen[1]+1); err != nil {
				t.Fatal(err)
			}
			forward(t, d,
				gpu.Item{Seq: 1, Pos: plen[1] + 1, Tokens: tokens[1][plen[1]+1 : plen[1]+2], Logits: 1},
				gpu.Item{Seq: 0, Pos: half, Tokens: tokens[2][half:plen[2]], Logits: 1})
			same(t, d, 0, 0, 1, 2)
			same(t, d, 1, 0, 2, 0)
		})
	}
}

func TestTrimmedSequenceStartsAnew(t *testing.T) {
	d := open(t, split)
	a, b := encode(t, d, "Red, green and"), encode(t, d, "A cat is a small animal that")
	_, want := alone(t, d, b, 2)
	forward(t, d, gpu.Item{Seq: 2, Tokens: a, Logits: 1})
	for _, pos := range []int{len(a) + 5, 0, 0} { // beyond its end, whole, and once more
		if err := d.Trim(2, pos); err != nil {
			t.Fatal(err)
		}
	}
	forward(t, d, gpu.Item{Seq: 2, Tokens: b, Logits: 1})
	if !slices.Equal(row(t, d, 0, 0), want[0]) {
		t.Error("a reused sequence remembers what it held")
	}
	for _, bad := range [][2]int{{-1, 0}, {4, 0}, {0, -1}, {1 << 40, 0}} {
		if d.Trim(bad[0], bad[1]) == nil {
			t.Errorf("Trim%v is accepted", bad)
		}
	}
}

// The library's own refusal (beyond our record) and ours end alike: an error, nothing changed, the device goes on.
func TestFullCacheIsAnErrorThatPasses(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprintf("own check %v", own), func(t *testing.T) {
			d := open(t, func(o *Options) { o.KVTokens = 256 })
			long := make([]gpu.Token, 200)
			for i := range long {
				long[i] = gpu.Token(1000 + i)
			}
			forward(t, d, gpu.Item{Seq: 0, Tokens: long})
			if !own {
				d.kv.free = append(d.kv.free, make([]int32, 100)...)
			}
			err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Pos: 200, Tokens: long[:1], Logits: 1}, {Seq: 1, Tokens: long[:100]}}})
			d.kv.free = d.kv.free[:56]
			if !errors.Is(err, gpu.ErrNoKV) {
				t.Fatalf("a batch beyond the cache: %v", err)
			}
			if _, err := d.Logits(0, 0); err == nil {
				t.Error("there are logits of a batch that failed")
			}
			forward(t, d, gpu.Item{Seq: 0, Pos: 200, Tokens: long[:1], Logits: 1}, gpu.Item{Seq: 1, Tokens: long[:55]})
			if err := d.Trim(0, 0); err != nil {
				t.Fatal(err)
			}
			forward(t, d, gpu.Item{Seq: 2, Tokens: long[:30], Logits: 1})
		})
	}
}

func TestLogitsAreThoseOfTheLastBatchOnly(t *testing.T) {
	d := open(t, nil)
	if _, err := d.Logits(0, 0); err == nil {
		t.Error("there are logits before the first batch")
	}
	toks := encode(t, d, "one two three four")
	forward(t, d, gpu.Item{Seq: 0, Tokens: toks, Logits: 2}, gpu.Item{Seq: 1, Tokens: toks})
	for _, bad := range [][2]int{{0, 2}, {0, -1}, {1, 0}, {2, 0}, {-1, 0}, {1 << 40, 0}} {
		if _, err := d.Logits(bad[0], bad[1]); err == nil {
			t.Errorf("Logits%v is accepted", bad)
		}
	}
	if err := d.Forward(&gpu.Batch{}); err == nil {
		t.Fatal("an empty batch is accepted")
	}
	if _, err := d.Logits(0, 0); err == nil {
		t.Error("there are logits after a batch that was refused")
	}
}

func TestCloseTwiceAndUseAfterwards(t *testing.T) {
	d := open(t, nil)
	toks := encode(t, d, "hello")
	forward(t, d, gpu.Item{Seq: 0, Tokens: toks, Logits: 1})
	tok := d.Tokenizer()
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d.Abort()
	if err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 1, Tokens: toks}}}); err == nil {
		t.Error("Forward after Close")
	}
	if _, err := d.Logits(0, 0); err == nil {
		t.Error("Logits after Close")
	}
	if d.Trim(0, 0) == nil {
		t.Error("Trim after Close")
	}
	if _, err := tok.Encode("hello", true); err == nil {
		t.Error("Encode after Close")
	}
	if string(tok.Piece(toks[0])) != "hello" {
		t.Error("pieces do not outlive the device")
	}
}

// Tokenizing, aborting and closing beside the loop is what a server does.
func TestHammer(t *testing.T) {
	d := open(t, nil)
	toks := encode(t, d, "a b c d e f g h")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 50 {
				if _, err := d.Tokenizer().Encode("The quick brown fox <|im_end|>", true); err != nil && !errors.Is(err, errClosed) {
					t.Error(err)
				}
				d.Abort()
			}
		})
	}
	wg.Go(func() {
		for range 15 {
			err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 1, Tokens: toks, Logits: 1}}})
			if err == nil {
				err = d.Trim(1, 0)
			}
			if err != nil && !errors.Is(err, gpu.ErrAborted) && !errors.Is(err, errClosed) {
				t.Error(err)
			}
		}
		_ = d.Close()
	})
	wg.Wait()
}
