package llama

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// Where our record has room the library finds it, and where ours has none it is not asked: after any mixture of steps,
// copies, cuts and restores.
func TestRecordOfCellsIsTheLibrarys(t *testing.T) {
	for _, layout := range []string{LayoutUnified, LayoutSplit} {
		t.Run(layout, func(t *testing.T) {
			d := open(t, func(o *Options) { o.KVTokens, o.KVLayout, o.MaxBatchTokens = 256, layout, 64 })
			r := rand.New(rand.NewPCG(1, 2))
			seqs := d.Info().MaxSeqs + min(d.Info().SpareSeqs, 3)
			var saved *gpu.Saved
			full := 0
			for range 300 {
				a, b := r.IntN(seqs), r.IntN(seqs)
				var err error
				switch r.IntN(12) {
				default:
					err = d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: a, Pos: d.kv.length(a), Tokens: running(a, 1+r.IntN(24))}}})
				case 2:
					err = d.Trim(a, r.IntN(d.kv.length(a)+1))
				case 3:
					trim(t, d, b, 0)
					if n := d.kv.length(a); n > 0 && a != b {
						err = d.Copy(a, b, 1+r.IntN(n))
					}
				case 4:
					if d.kv.length(a) > 0 {
						if saved != nil {
							d.Recycle(saved)
						}
						saved, err = d.Save(a)
					}
				case 5:
					if saved != nil {
						trim(t, d, b, 0)
						err = d.Restore(b, saved)
					}
				}
				if errors.Is(err, gpu.ErrNoKV) && strings.Contains(err.Error(), "cells are used") {
					full, err = full+1, nil
				}
				if err != nil && !errors.Is(err, gpu.ErrBatch) { // a sequence that reached the context's end
					t.Fatal(err)
				}
				checkCells(t, d)
			}
			if layout == LayoutUnified && full == 0 {
				t.Error("the cache was never full")
			}
			for _, s := range []int{3, 1, 0, 2} { // each cell that is free can be had
				if n := min(d.info.KVTokens-d.kv.used(), d.info.ContextTokens-d.kv.length(s), d.info.MaxBatchTokens); n > 0 {
					forward(t, d, gpu.Item{Seq: s, Pos: d.kv.length(s), Tokens: running(1, n)})
				}
			}
		})
	}
}

// checkCells compares each sequence's length with the library's, and the cells in use with what the sequences have.
func checkCells(t *testing.T, d *Device) {
	t.Helper()
	held := map[int32]uint16{}
	for seq := range d.kv.seqs {
		last, err := capi.MemorySeqPosMax(d.ctx.Memory, capi.SeqId(seq))
		if err != nil || int(last)+1 != d.kv.length(seq) {
			t.Fatalf("sequence %d holds %d tokens, by our record %d", seq, last+1, d.kv.length(seq))
		}
		for _, cell := range d.kv.seqs[seq] {
			held[cell]++
		}
	}
	if d.kv.used() != len(held) {
		t.Fatalf("%d cells are used, by our record %d", len(held), d.kv.used())
	}
	for _, cell := range d.kv.free {
		if held[cell] != 0 {
			t.Fatalf("cell %d is free and used", cell)
		}
	}
}

func TestSharedCellsCountOnce(t *testing.T) {
	d := open(t, func(o *Options) { o.KVTokens = 256 })
	forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 150)})
	for to := 1; to < d.Info().MaxSeqs+d.Info().SpareSeqs; to++ {
		if err := d.Copy(0, to, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 1, Pos: 100, Tokens: running(1, 107)}}}); !errors.Is(err, gpu.ErrNoKV) {
		t.Errorf("one cell more than there is: %v", err)
	}
	forward(t, d, gpu.Item{Seq: 1, Pos: 100, Tokens: running(1, 106)})
	trim(t, d, 0, 0) // frees what it does not share
	forward(t, d, gpu.Item{Seq: 2, Pos: 100, Tokens: running(1, 50)})
	if err := d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 3, Pos: 100, Tokens: running(1, 1)}}}); !errors.Is(err, gpu.ErrNoKV) {
		t.Errorf("a full cache: %v", err)
	}
}

func TestWrongCopiesSavesAndRestoresAreRefused(t *testing.T) {
	for _, layout := range []string{LayoutUnified, LayoutSplit} {
		t.Run(layout, func(t *testing.T) {
			d := open(t, func(o *Options) { o.KVLayout, o.KVTokens = layout, 512 })
			end := d.Info().MaxSeqs + d.Info().SpareSeqs
			forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 30)}, gpu.Item{Seq: 1, Tokens: running(2, 5)})
			saved, err := d.Save(0)
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string][3]int{
				"onto itself": {0, 0, 3}, "onto one that holds something": {0, 1, 3}, "of nothing": {0, 2, 0}, "of less": {0, 2, -1},
				"of too much": {0, 2, 31}, "of an empty one": {2, 3, 1}, "from -1": {-1, 2, 1}, "to -1": {0, -1, 1},
				"from beyond": {end, 2, 1}, "to beyond": {0, end, 1}, "to 256": {0, 256, 1},
			} {
				if d.Copy(c[0], c[1], c[2]) == nil {
					t.Errorf("a copy %s is accepted", name)
				}
			}
			for _, seq := range []int{-1, 2, end, 256} {
				if _, err := d.Save(seq); err == nil {
					t.Errorf("sequence %d is saved", seq)
				}
			}
			for _, seq := range []int{-1, 0, 1, end, 256} {
				if d.Restore(seq, saved) == nil {
					t.Errorf("restored onto sequence %d", seq)
				}
			}
			checkCells(t, d)
		})
	}
}

func TestDamagedOrForeignSavesAreRefused(t *testing.T) {
	d, other := open(t, nil), open(t, nil)
	forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 12)})
	forward(t, other, gpu.Item{Seq: 0, Tokens: running(1, 12)})
	good, err := d.Save(0)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Save(0)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(name string, s *gpu.Saved) {
		t.Helper()
		if d.Restore(2, s) == nil {
			t.Errorf("%s: it is restored", name)
			trim(t, d, 2, 0)
		}
	}
	refuse("nothing", nil)
	refuse("no bytes", &gpu.Saved{Tokens: 12})
	refuse("another device's", foreign)
	refuse("another length", &gpu.Saved{Tokens: 11, Data: good.Data})
	refuse("cut short", &gpu.Saved{Tokens: 12, Data: good.Data[:len(good.Data)-1]})
	for at := 0; at < len(good.Data); at += 1 + len(good.Data)/199 {
		bad := slices.Clone(good.Data)
		bad[at] ^= 1 << (at % 8)
		refuse("one bit turned", &gpu.Saved{Tokens: 12, Data: bad})
	}
	if err := d.Restore(2, good); err != nil {
		t.Fatal(err)
	}
	checkCells(t, d)
}

func TestRestoreIntoAFullCache(t *testing.T) {
	d := open(t, func(o *Options) { o.KVTokens = 256 })
	forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 100)})
	saved, err := d.Save(0)
	if err != nil {
		t.Fatal(err)
	}
	forward(t, d, gpu.Item{Seq: 1, Tokens: running(2, 57)})
	if err := d.Restore(2, saved); !errors.Is(err, gpu.ErrNoKV) {
		t.Errorf("one cell too few: %v", err)
	}
	trim(t, d, 1, 56)
	if err := d.Restore(2, saved); err != nil {
		t.Errorf("just enough cells: %v", err)
	}
	checkCells(t, d)
}

// The type of the cache is what was asked for, and unless it was q8_0 in a split cache on the CPU, and f16 elsewhere: a value takes 2
// bytes at f16, and 34 for 32 of them at q8_0. Only a unified cache at f16 has a better price for prompts in wide steps.
func TestKVTypeIsWhatWasAskedFor(t *testing.T) {
	const values = 30 * 2 * 3 * 64 // of a token: layers, keys and values, heads, width of a head
	const f16, q8 = values * 2, values * 34 / 32
	for _, c := range []struct {
		want, layout string
		bytes, wide  int
	}{
		{KVF16, LayoutUnified, f16, tiledRows}, {KVQ8_0, LayoutUnified, q8, 0}, {"", LayoutUnified, f16, tiledRows},
		{KVF16, LayoutSplit, f16, 0}, {KVQ8_0, LayoutSplit, q8, 0}, {"", LayoutSplit, q8, 0},
	} {
		d := open(t, func(o *Options) { o.KVType, o.KVLayout = c.want, c.layout })
		want, bytes := c.want+" "+c.layout, c.bytes
		if got := d.Info().WideRows; got != c.wide {
			t.Errorf("%q: wide from %d rows on", want, got)
		}
		tokens, _ := alone(t, d, encode(t, d, "One, two, three, four,"), 6)
		if text := spell(d.Tokenizer(), tokens); !strings.Contains(text, " five, six") {
			t.Errorf("%q: it says %q", want, text)
		}
		forward(t, d, gpu.Item{Seq: 0, Tokens: running(1, 200)})
		s, err := d.Save(0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.Data) / 200; got < bytes || got > bytes+bytes/50 {
			t.Errorf("%q: %d bytes for each token, not %d", want, got, bytes)
		}
	}
}
