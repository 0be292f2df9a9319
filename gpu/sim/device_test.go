package sim

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

func open(t testing.TB, o Options) *Device { return Open(profile(t, CPUProfile), o) }

func forward(t testing.TB, d *Device, items ...gpu.Item) {
	t.Helper()
	if err := d.Forward(&gpu.Batch{Items: items}); err != nil {
		t.Fatal(err)
	}
}

func logits(t testing.TB, d *Device, item, i int) []float32 {
	t.Helper()
	l, err := d.Logits(item, i)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(l)
}

func argmax(l []float32) gpu.Token {
	best := 0
	for i, v := range l {
		if v > l[best] {
			best = i
		}
	}
	return gpu.Token(best)
}

// greedy decodes n tokens after a prompt, alone on the device.
func greedy(t testing.TB, d *Device, prompt string, n int) []gpu.Token {
	tokens, err := Tokenizer{}.Encode(prompt, false)
	if err != nil {
		t.Fatal(err)
	}
	var out []gpu.Token
	for pos := 0; len(out) < n; {
		forward(t, d, gpu.Item{Seq: 0, Pos: pos, Tokens: tokens, Logits: 1})
		pos += len(tokens)
		next := argmax(logits(t, d, 0, 0))
		out = append(out, next)
		tokens = []gpu.Token{next}
	}
	return out
}

func TestGreedyTextIsReproducible(t *testing.T) {
	a := greedy(t, open(t, Options{}), "Once upon a time", 300)
	b := greedy(t, open(t, Options{}), "Once upon a time", 300)
	c := greedy(t, open(t, Options{}), "Twice upon a time", 300)
	if !slices.Equal(a, b) {
		t.Error("the same prompt gave two texts")
	}
	if slices.Equal(a, c) {
		t.Error("two prompts gave one text")
	}
	letters := 0
	for _, x := range a {
		if x >= 'a' && x <= 'z' || x == ' ' {
			letters++
		}
	}
	if letters < 200 {
		t.Errorf("only %d of 300 tokens are letters", letters)
	}
}

// Logits are a function of the sequence's tokens: not of how they were cut into batches, of the place, or of the mates.
func TestLogitsDependOnTheTokensAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Int32Range(0, VocabSize-1), 1, 60).Draw(t, "tokens")
		whole, parts := Open(mustProfile(CPUProfile), Options{}), Open(mustProfile(CPUProfile), Options{})
		if err := whole.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Tokens: tokens, Logits: len(tokens)}}}); err != nil {
			t.Fatal(err)
		}
		seq := rapid.IntRange(1, 15).Draw(t, "seq")
		mate := 0
		for pos := 0; pos < len(tokens); {
			n := rapid.IntRange(1, len(tokens)-pos).Draw(t, "n")
			// A draft that is wrong and taken back must leave no trace.
			if err := parts.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: seq, Pos: pos, Tokens: []gpu.Token{99, 98}}}}); err != nil {
				t.Fatal(err)
			}
			if err := parts.Trim(seq, pos); err != nil {
				t.Fatal(err)
			}
			b := &gpu.Batch{Items: []gpu.Item{
				{Seq: 0, Pos: mate, Tokens: []gpu.Token{7}, Logits: 1},
				{Seq: seq, Pos: pos, Tokens: tokens[pos : pos+n], Logits: n},
			}}
			if err := parts.Forward(b); err != nil {
				t.Fatal(err)
			}
			mate++
			for i := range n {
				got, err := parts.Logits(1, i)
				if err != nil {
					t.Fatal(err)
				}
				want, err := whole.Logits(0, pos+i)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("position %d differs", pos+i)
				}
			}
			pos += n
		}
		if parts.Held() != mate+len(tokens) {
			t.Fatalf("%d tokens held, want %d", parts.Held(), mate+len(tokens))
		}
	})
}

func mustProfile(name string) Profile {
	p, err := ParseProfile(name)
	if err != nil {
		panic(err)
	}
	return p
}

func TestTheWholeHistoryMatters(t *testing.T) {
	d := open(t, Options{})
	a, _ := Tokenizer{}.Encode("xbcdefghij", false)
	b, _ := Tokenizer{}.Encode("abcdefghij", false)
	forward(t, d, gpu.Item{Seq: 0, Tokens: a, Logits: 1}, gpu.Item{Seq: 1, Tokens: b, Logits: 1})
	if slices.Equal(logits(t, d, 0, 0), logits(t, d, 1, 0)) {
		t.Error("a different first token leaves the logits as they are")
	}
}

func TestAMalformedBatchChangesNothing(t *testing.T) {
	d := open(t, Options{ContextTokens: 20, MaxBatchTokens: 12, KVTokens: 30})
	forward(t, d, gpu.Item{Seq: 1, Tokens: []gpu.Token{1, 2, 3}, Logits: 1})
	good := gpu.Item{Seq: 0, Tokens: []gpu.Token{1}, Logits: 1}
	for name, items := range map[string][]gpu.Item{
		"empty":             {},
		"no tokens":         {good, {Seq: 1, Pos: 3}},
		"gap":               {good, {Seq: 1, Pos: 4, Tokens: []gpu.Token{1}}},
		"repeated position": {good, {Seq: 1, Pos: 2, Tokens: []gpu.Token{1}}},
		"sequence twice":    {good, {Seq: 0, Pos: 1, Tokens: []gpu.Token{1}}},
		"sequence id":       {good, {Seq: 16, Tokens: []gpu.Token{1}}},
		"negative id":       {good, {Seq: -1, Tokens: []gpu.Token{1}}},
		"token":             {good, {Seq: 2, Tokens: []gpu.Token{VocabSize}}},
		"negative token":    {good, {Seq: 2, Tokens: []gpu.Token{-1}}},
		"too many logits":   {good, {Seq: 2, Tokens: []gpu.Token{1}, Logits: 2}},
		"too many tokens":   {good, {Seq: 2, Tokens: make([]gpu.Token, 12)}},
		"context":           {{Seq: 1, Pos: 3, Tokens: make([]gpu.Token, 18)}},
	} {
		if err := d.Forward(&gpu.Batch{Items: items}); !errors.Is(err, gpu.ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
		if d.Held() != 3 || len(d.History(0)) != 0 {
			t.Fatalf("%s: the device took in a part of it", name)
		}
		if _, err := d.Logits(0, 0); err == nil {
			t.Errorf("%s: logits of a step that did not happen", name)
		}
	}
	if err := d.Forward(nil); !errors.Is(err, gpu.ErrBatch) {
		t.Errorf("no batch: %v", err)
	}
}

func TestKVIsBounded(t *testing.T) {
	d := open(t, Options{KVTokens: 10})
	forward(t, d, gpu.Item{Seq: 0, Tokens: make([]gpu.Token, 8)})
	over := &gpu.Batch{Items: []gpu.Item{{Seq: 1, Tokens: make([]gpu.Token, 3)}}}
	if err := d.Forward(over); !errors.Is(err, gpu.ErrNoKV) || d.Held() != 8 {
		t.Fatalf("%v, %d held", err, d.Held())
	}
	if err := d.Trim(0, 5); err != nil {
		t.Fatal(err)
	}
	if err := d.Forward(over); err != nil || d.Held() != 8 {
		t.Fatalf("%v, %d held", err, d.Held())
	}
	if err := d.Trim(16, 0); err == nil {
		t.Error("a sequence that is not there was trimmed")
	}
}

func TestLogitsThatWereNotAskedForAreAnError(t *testing.T) {
	d := open(t, Options{})
	forward(t, d, gpu.Item{Seq: 0, Tokens: []gpu.Token{1, 2}, Logits: 1}, gpu.Item{Seq: 1, Tokens: []gpu.Token{1, 2}, Logits: 2})
	for _, c := range [][2]int{{0, 1}, {1, 2}, {2, 0}, {-1, 0}, {0, -1}} {
		if _, err := d.Logits(c[0], c[1]); err == nil {
			t.Errorf("item %d row %d", c[0], c[1])
		}
	}
}

func TestAFaultComputesNothing(t *testing.T) {
	broken := errors.New("the device is on fire")
	d := open(t, Options{Fault: func(step uint64, _ *gpu.Batch) error {
		if step == 2 {
			return broken
		}
		return nil
	}})
	b := func(pos int) *gpu.Batch {
		return &gpu.Batch{Items: []gpu.Item{{Seq: 0, Pos: pos, Tokens: []gpu.Token{5}, Logits: 1}}}
	}
	if err := d.Forward(b(0)); err != nil {
		t.Fatal(err)
	}
	if err := d.Forward(b(1)); !errors.Is(err, broken) || d.Held() != 1 {
		t.Fatalf("%v, %d held", err, d.Held())
	}
	if err := d.Forward(b(1)); err != nil {
		t.Fatal(err)
	}
}

func TestWallTimeAndAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, Options{Wall: 2})
		start := time.Now()
		d.Abort() // before a step: no effect on it
		forward(t, d, gpu.Item{Seq: 0, Tokens: []gpu.Token{1}, Logits: 1})
		if took := time.Since(start); took != 11_800_000 {
			t.Errorf("a step of 5.9 ms at half speed took %v", took)
		}
		time.AfterFunc(time.Millisecond, d.Abort)
		start = time.Now()
		err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Pos: 1, Tokens: []gpu.Token{2}}}})
		if !errors.Is(err, gpu.ErrAborted) || time.Since(start) != time.Millisecond || d.Held() != 1 {
			t.Errorf("%v after %v, %d held", err, time.Since(start), d.Held())
		}
		forward(t, d, gpu.Item{Seq: 0, Pos: 1, Tokens: []gpu.Token{2}})
	})
}
