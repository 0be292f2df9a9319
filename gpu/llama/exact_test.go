package llama

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
)

// crowd is a split cache with room for sixteen sequences.
func crowd(o *Options) { o.KVLayout, o.MaxSeqs, o.KVTokens = LayoutSplit, 16, 16*256 }

// running gives n tokens of text that differ by seed.
func running(seed, n int) []gpu.Token {
	out := make([]gpu.Token, n)
	for i := range out {
		out[i] = gpu.Token(400 + (seed*7919+i*i*31+i*977)%40000)
	}
	return out
}

// reference is what the rows of a sequence are when its tokens are computed one prompt and then one token at a time, alone.
func reference(t testing.TB, d *Device, tokens []gpu.Token, from int) (rows [][]float32) {
	t.Helper()
	forward(t, d, gpu.Item{Seq: 0, Tokens: tokens[:from], Logits: 1})
	rows = append(rows, row(t, d, 0, 0))
	for at := from; at < len(tokens); at++ {
		forward(t, d, gpu.Item{Seq: 0, Pos: at, Tokens: tokens[at : at+1], Logits: 1})
		rows = append(rows, row(t, d, 0, 0))
	}
	if err := d.Trim(0, 0); err != nil {
		t.Fatal(err)
	}
	return rows
}

func trim(t testing.TB, d *Device, seq, pos int) {
	t.Helper()
	if err := d.Trim(seq, pos); err != nil {
		t.Fatal(err)
	}
}

func TestLogitsDoNotDependOnTheBatch(t *testing.T) {
	d := open(t, crowd)
	var tokens [16][]gpu.Token
	var want [16][][]float32
	for s := range tokens {
		tokens[s] = running(s, 3+s%7+2)
		want[s] = reference(t, d, tokens[s], len(tokens[s])-2)
	}
	for b := 1; b <= 16; b++ {
		for step := range 3 {
			var items []gpu.Item
			for s := range b {
				at := len(tokens[s]) - 2 + step - 1
				item := gpu.Item{Seq: s, Pos: at, Tokens: tokens[s][max(at, 0):][:1], Logits: 1}
				if step == 0 {
					item.Pos, item.Tokens = 0, tokens[s][:len(tokens[s])-2]
				}
				items = append(items, item)
			}
			forward(t, d, items...)
			for s := range b {
				if !slices.Equal(row(t, d, s, 0), want[s][step]) {
					t.Errorf("batch of %d: sequence %d differs from itself alone in step %d", b, s, step)
				}
			}
		}
		for s := range b {
			trim(t, d, s, 0)
		}
	}
}

func TestLogitsDoNotDependOnTheChunks(t *testing.T) {
	d := open(t, crowd)
	tokens := running(3, 100)
	forward(t, d, gpu.Item{Seq: 0, Tokens: tokens, Logits: 1})
	want := row(t, d, 0, 0)
	trim(t, d, 0, 0)
	for _, chunk := range []int{1, 7, 16, 33, 64} {
		for at := 0; at < len(tokens); at += chunk {
			part := tokens[at:min(at+chunk, len(tokens))]
			forward(t, d, gpu.Item{Seq: 5, Pos: at, Tokens: part, Logits: 1})
		}
		if !slices.Equal(row(t, d, 0, 0), want) {
			t.Errorf("chunks of %d give other logits than one", chunk)
		}
		trim(t, d, 5, 0)
	}
}

// Sixteen rows are a token and the most drafts that are verified at once.
func TestLogitsDoNotDependOnTheRowsVerified(t *testing.T) {
	d := open(t, crowd)
	tokens := running(9, 20+16)
	want := reference(t, d, tokens, 20)
	forward(t, d, gpu.Item{Seq: 2, Tokens: tokens[:20]}, gpu.Item{Seq: 7, Tokens: running(1, 9)})
	for rows := 2; rows <= 16; rows++ {
		forward(t, d, gpu.Item{Seq: 7, Pos: 9, Tokens: running(2, rows%3+1), Logits: 1}, gpu.Item{Seq: 2, Pos: 20, Tokens: tokens[20 : 20+rows], Logits: rows})
		for i := range rows {
			if !slices.Equal(row(t, d, 1, i), want[1+i]) {
				t.Errorf("row %d of %d differs from the step with one row", i, rows)
			}
		}
		trim(t, d, 2, 20)
		trim(t, d, 7, 9)
	}
}

// A prefix that was copied, a sequence that was saved, dropped and restored under another id, and one that lost rejected drafts
// go on as if they had been computed afresh, with others in the batch.
func TestMovedSequencesComputeTheSame(t *testing.T) {
	const prefix, prompt = 70, 90
	tokens := running(4, prompt+6)
	other := running(5, prompt+20)
	copy(other, tokens[:prefix])
	moves := map[string]func(t *testing.T, d *Device) int{ // each leaves the prefix on the sequence that it gives
		"copied": func(t *testing.T, d *Device) int {
			forward(t, d, gpu.Item{Seq: 1, Tokens: other})
			if err := d.Copy(1, 3, prefix); err != nil {
				t.Fatal(err)
			}
			return 3
		},
		"copied, and the source reused": func(t *testing.T, d *Device) int {
			forward(t, d, gpu.Item{Seq: 1, Tokens: other})
			if err := d.Copy(1, 3, prefix); err != nil {
				t.Fatal(err)
			}
			trim(t, d, 1, 0)
			forward(t, d, gpu.Item{Seq: 1, Tokens: running(6, 60)})
			return 3
		},
		"copied twice": func(t *testing.T, d *Device) int {
			forward(t, d, gpu.Item{Seq: 1, Tokens: other})
			if err := d.Copy(1, 2, prefix+5); err != nil {
				t.Fatal(err)
			}
			if err := d.Copy(2, 3, prefix); err != nil {
				t.Fatal(err)
			}
			return 3
		},
		"saved and restored": func(t *testing.T, d *Device) int {
			forward(t, d, gpu.Item{Seq: 1, Tokens: tokens[:prefix]})
			s, err := d.Save(1)
			if err != nil {
				t.Fatal(err)
			}
			trim(t, d, 1, 0)
			forward(t, d, gpu.Item{Seq: 1, Tokens: running(7, 30)})
			if err := d.Restore(2, s); err != nil {
				t.Fatal(err)
			}
			return 2
		},
		"copied, saved and restored": func(t *testing.T, d *Device) int {
			forward(t, d, gpu.Item{Seq: 1, Tokens: other})
			if err := d.Copy(1, 3, prefix); err != nil {
				t.Fatal(err)
			}
			s, err := d.Save(3)
			if err != nil {
				t.Fatal(err)
			}
			trim(t, d, 3, 0)
			trim(t, d, 1, 0)
			for _, seq := range []int{1, 3} { // as often as one likes
				if err := d.Restore(seq, s); err != nil {
					t.Fatal(err)
				}
			}
			return 1
		},
		"drafts rejected": func(t *testing.T, d *Device) int {
			forward(t, d, gpu.Item{Seq: 2, Tokens: tokens[:prefix-1]})
			for k := 1; k <= 15; k += 7 {
				draft := append([]gpu.Token{tokens[prefix-1]}, running(k, k)...)
				forward(t, d, gpu.Item{Seq: 2, Pos: prefix - 1, Tokens: draft, Logits: len(draft)}, gpu.Item{Seq: 0, Tokens: running(8, 5)})
				trim(t, d, 2, prefix-1)
				trim(t, d, 0, 0)
			}
			forward(t, d, gpu.Item{Seq: 2, Pos: prefix - 1, Tokens: tokens[prefix-1 : prefix]})
			return 2
		},
	}
	ref := open(t, crowd)
	want := reference(t, ref, tokens, prompt)
	for name, move := range moves {
		t.Run(name, func(t *testing.T) {
			d := open(t, func(o *Options) { o.KVLayout, o.KVTokens = LayoutSplit, 4*512 })
			seq := move(t, d)
			forward(t, d, gpu.Item{Seq: 0, Tokens: running(10, 11)}, gpu.Item{Seq: seq, Pos: prefix, Tokens: tokens[prefix:prompt], Logits: 1})
			same(t, row(t, d, 1, 0), want[0], name)
			for i := range len(tokens) - prompt {
				forward(t, d, gpu.Item{Seq: seq, Pos: prompt + i, Tokens: tokens[prompt+i:][:1], Logits: 1}, gpu.Item{Seq: 0, Pos: 11 + i, Tokens: running(i, 1)})
				same(t, row(t, d, 0, 0), want[1+i], fmt.Sprintf("%s, %d tokens later", name, i+1))
			}
		})
	}
}

func same(t *testing.T, got, want []float32, what string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: other logits than computed afresh", what)
	}
}

// In one pool of cells a prefix that two sequences have is the same cells, in the order in which it was computed: what is
// computed on a copy is then exact as well, as long as nothing was freed before it, and the cache is of the type that is exact.
func TestSharedPrefixComputesTheSame(t *testing.T) {
	const prefix = 70
	tokens := running(4, 100)
	ref := open(t, split1)
	want := reference(t, ref, tokens, len(tokens))
	d := open(t, func(o *Options) { o.KVType = KVQ8_0 })
	forward(t, d, gpu.Item{Seq: 1, Tokens: tokens[:prefix]})
	for _, to := range []int{0, d.Info().MaxSeqs, d.Info().MaxSeqs + d.Info().SpareSeqs - 1} {
		if err := d.Copy(1, to, prefix); err != nil {
			t.Fatal(err)
		}
	}
	trim(t, d, 1, 0)
	last := d.Info().MaxSeqs + d.Info().SpareSeqs - 1
	if err := d.Copy(last, 2, prefix); err != nil {
		t.Fatal(err)
	}
	forward(t, d, gpu.Item{Seq: 2, Pos: prefix, Tokens: tokens[prefix:], Logits: 1})
	same(t, row(t, d, 0, 0), want[0], "a prefix that was kept by a spare sequence")
	s, err := d.Save(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Restore(3, s); err != nil {
		t.Fatal(err)
	}
	forward(t, d, gpu.Item{Seq: 3, Pos: prefix, Tokens: tokens[prefix:], Logits: 1})
	same(t, row(t, d, 0, 0), want[0], "a spare sequence that was saved")
}

func split1(o *Options) { o.KVLayout, o.MaxSeqs = LayoutSplit, 1 }
