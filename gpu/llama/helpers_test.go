package llama

import (
	"os"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// testPaths gives what set-up fetched, or skips.
func testPaths(t testing.TB) (libs, published, fast string) {
	t.Helper()
	libs, published, fast, err := DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{libs, published, fast} {
		if _, err := os.Stat(p); err != nil {
			if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
				t.Fatalf("%v: run make setup", err)
			}
			t.Skipf("%v: run make setup to test on the real model", err)
		}
	}
	return libs, published, fast
}

// small is a device that opens fast and uses little memory; change, which may be nil, adjusts it. One thread, because
// two wait for each other when other tests take the CPUs.
func small(t testing.TB, change func(*Options)) Options {
	libs, _, fast := testPaths(t)
	o := Options{LibDir: libs, ModelPath: fast, Device: DeviceCPU, Threads: 1, KVTokens: 1024, MaxSeqs: 4, MaxBatchTokens: 256}
	if change != nil {
		change(&o)
	}
	return o
}

func open(t testing.TB, change func(*Options)) *Device {
	t.Helper()
	d, err := Open(small(t, change))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func split(o *Options) { o.KVLayout = LayoutSplit }

func encode(t testing.TB, d *Device, text string) []gpu.Token {
	t.Helper()
	toks, err := d.Tokenizer().Encode(text, false)
	if err != nil {
		t.Fatal(err)
	}
	return toks
}

func forward(t testing.TB, d *Device, items ...gpu.Item) {
	t.Helper()
	if err := d.Forward(&gpu.Batch{Items: items}); err != nil {
		t.Fatal(err)
	}
}

// row copies logits out of the library's memory.
func row(t testing.TB, d *Device, item, i int) []float32 {
	t.Helper()
	l, err := d.Logits(item, i)
	if err != nil {
		t.Fatal(err)
	}
	if len(l) != d.Info().VocabSize {
		t.Fatalf("%d logits for a vocabulary of %d", len(l), d.Info().VocabSize)
	}
	return slices.Clone(l)
}

func argmax(l []float32) gpu.Token {
	best := 0
	for i, x := range l {
		if x > l[best] {
			best = i
		}
	}
	return gpu.Token(best)
}

// alone computes text's tokens and n greedy ones after them on sequence 0, one at a time, and gives all tokens and the
// logits after each, from the last prompt token on. It leaves the sequence empty.
func alone(t testing.TB, d *Device, prompt []gpu.Token, n int) (tokens []gpu.Token, rows [][]float32) {
	t.Helper()
	tokens = slices.Clone(prompt)
	forward(t, d, gpu.Item{Seq: 0, Tokens: prompt, Logits: 1})
	rows = append(rows, row(t, d, 0, 0))
	for range n {
		next := argmax(rows[len(rows)-1])
		forward(t, d, gpu.Item{Seq: 0, Pos: len(tokens), Tokens: []gpu.Token{next}, Logits: 1})
		tokens = append(tokens, next)
		rows = append(rows, row(t, d, 0, 0))
	}
	if err := d.Trim(0, 0); err != nil {
		t.Fatal(err)
	}
	return tokens, rows
}
