package llama

import (
	"errors"
	"math"
	"slices"
	"testing"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// eachDrafter runs a test with every kind of drafter and a text for it.
func eachDrafter(t *testing.T, f func(t *testing.T, d *Device, text []gpu.Token)) {
	sizes := func(o *Options) { o.MaxSeqs, o.KVTokens = 6, 6*512 }
	t.Run(DrafterModel, func(t *testing.T) {
		_, published, _ := testPaths(t)
		d := open(t, both(sizes, draftModel(published)))
		f(t, d, encode(t, d, "Once upon a time there was a small town by the sea, where all the people knew each other and nobody locked a door."))
	})
	t.Run(DrafterEAGLE3, func(t *testing.T) {
		d := open(t, both(sizes, eagle(t)))
		f(t, d, encode(t, d, "Once upon a time there was a small town by the sea, where all the people knew each other and nobody locked a door."))
	})
	t.Run(DrafterMTP, func(t *testing.T) {
		d := open(t, both(sizes, mtp(t, mtpRandom)))
		f(t, d, counting(3, 26))
	})
}

// feed computes tokens on a sequence and tells the drafter.
func feed(t testing.TB, d *Device, seq, pos int, tokens []gpu.Token) {
	t.Helper()
	b := gpu.Batch{Items: []gpu.Item{{Seq: seq, Pos: pos, Tokens: tokens, Logits: 1}}}
	if err := d.Forward(&b); err != nil {
		t.Fatal(err)
	}
	if err := d.Drafter().Observe(&b, []int{len(tokens)}); err != nil {
		t.Fatal(err)
	}
}

// guess gives n drafts after history and the logits that each was read from.
func guess(t testing.TB, d *Device, seq int, history []gpu.Token, n int) (drafts []gpu.Token, logits [][]float32) {
	t.Helper()
	rows := []gpu.DraftRow{{Seq: seq, History: history, Max: n, Pick: func(_ int, l []float32) gpu.Token {
		logits = append(logits, slices.Clone(l))
		return argmax(l)
	}}}
	if err := d.Drafter().Draft(rows); err != nil {
		t.Fatal(err)
	}
	return rows[0].Draft, logits
}

// sameRows compares bit for bit, but for the MTP model: its weights are floats, whose products depend on the batch.
func sameRows(d *Device, a, b [][]float32) bool {
	tolerance := 0.0
	if d.draft.name == DrafterMTP {
		tolerance = 0.05
	}
	return slices.EqualFunc(a, b, func(x, y []float32) bool {
		return slices.EqualFunc(x, y, func(p, q float32) bool { return p == q || math.Abs(float64(p-q)) <= tolerance })
	})
}

// However a sequence came to be what it is, it gets the same drafts, bit for bit.
func TestDraftsDoNotDependOnHowTheTextCame(t *testing.T) {
	eachDrafter(t, func(t *testing.T, d *Device, text []gpu.Token) {
		n := len(text) - 1 // the device never holds the newest token
		feed(t, d, 0, 0, text[:n])
		_, want := guess(t, d, 0, text, 3)
		if len(want) != 3 {
			t.Fatalf("%d drafts", len(want))
		}
		check := func(t *testing.T, seq int) {
			t.Helper()
			if _, got := guess(t, d, seq, text, 3); !sameRows(d, got, want) {
				t.Error("the drafts are read from other logits")
			}
		}
		t.Run("asked twice", func(t *testing.T) { check(t, 0) })
		t.Run("token by token", func(t *testing.T) {
			for i := range n {
				feed(t, d, 1, i, text[i:i+1])
				guess(t, d, 1, text[:i+2], 1+i%4)
			}
			check(t, 1)
		})
		t.Run("after drafts that were taken back", func(t *testing.T) {
			half := n / 2
			feed(t, d, 2, 0, text[:half])
			drafts, _ := guess(t, d, 2, text[:half+1], 4)
			b := gpu.Batch{Items: []gpu.Item{{Seq: 2, Pos: half, Tokens: slices.Concat(text[half:half+1], drafts), Logits: 1}}}
			if err := errors.Join(d.Forward(&b), d.Drafter().Observe(&b, []int{1}), d.Trim(2, half+1)); err != nil {
				t.Fatal(err)
			}
			feed(t, d, 2, half+1, text[half+1:n])
			check(t, 2)
		})
		t.Run("among others", func(t *testing.T) {
			b := gpu.Batch{Items: []gpu.Item{
				{Seq: 4, Tokens: text[3:9], Logits: 1}, {Seq: 3, Tokens: text[:n], Logits: 2}, {Seq: 5, Tokens: text[:4], Logits: 4},
			}}
			if err := errors.Join(d.Forward(&b), d.Drafter().Observe(&b, []int{6, n, 4})); err != nil {
				t.Fatal(err)
			}
			var got [][]float32
			rows := []gpu.DraftRow{
				{Seq: 5, History: text[:5], Max: 1}, {Seq: 4, History: text[3:10], Max: 5},
				{Seq: 3, History: text, Max: 3, Pick: func(_ int, l []float32) gpu.Token { got = append(got, slices.Clone(l)); return argmax(l) }},
			}
			if err := d.Drafter().Draft(rows); err != nil {
				t.Fatal(err)
			}
			if !sameRows(d, got, want) || len(rows[0].Draft) != 1 || len(rows[1].Draft) != 5 {
				t.Errorf("other drafts among others: %d and %d beside it", len(rows[0].Draft), len(rows[1].Draft))
			}
		})
	})
}

// What is copied, saved or survives a reset takes what the drafter knows with it, bit for bit.
func TestDraftsFollowCopiesAndSaves(t *testing.T) {
	eachDrafter(t, func(t *testing.T, d *Device, text []gpu.Token) {
		n := len(text) - 1
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		feed(t, d, 0, 0, text[:n])
		_, want := guess(t, d, 0, text, 3)
		check := func(name string, seq int) {
			t.Helper()
			if _, got := guess(t, d, seq, text, 3); !sameRows(d, got, want) {
				t.Errorf("%s: the drafts are read from other logits", name)
			}
		}
		must(d.Copy(0, 1, n))
		check("copied", 1)
		// Another text that begins alike: the place where the two part must not remember the other's token.
		other := slices.Concat(text[:n/2], []gpu.Token{text[0], text[1], text[2]})
		feed(t, d, 2, 0, other[:len(other)-1])
		guess(t, d, 2, other, 2)
		must(d.Copy(2, 3, n/2))
		feed(t, d, 3, n/2, text[n/2:n])
		check("copied in part", 3)
		feed(t, d, 2, len(other)-1, other[len(other)-1:]) // the source goes on, the copy does not see it
		check("copied in part, and the source went on", 3)

		saved, err := d.Save(0)
		must(err)
		must(d.Trim(1, 0))
		must(d.Restore(1, saved))
		check("restored", 1)
		must(d.Trim(0, 0))
		feed(t, d, 0, 0, other[:4])
		must(d.Trim(3, 0))
		must(d.Restore(3, saved))
		check("restored after the source was gone", 3)
		saved, err = d.Save(1) // saved with what it drafted last
		must(err)
		must(d.Reset())
		must(d.Restore(2, saved))
		check("restored after a reset", 2)
		feed(t, d, 0, 0, text[:n])
		check("computed after a reset", 0)

		saved.State = nil
		must(d.Restore(1, saved))
		drafts, _ := guess(t, d, 1, text, 1)
		if catchesUp := d.draft.name == DrafterModel; catchesUp != (len(drafts) == 1) {
			t.Errorf("%d drafts for a sequence that was saved without the drafter", len(drafts))
		}
	})
}

// positions gives the last position that the device and the drafter hold of a sequence; -1 = none.
func positions(t testing.TB, d *Device, seq int) (device, drafter int) {
	t.Helper()
	a, err := capi.MemorySeqPosMax(d.ctx.Memory, capi.SeqId(seq))
	if err != nil {
		t.Fatal(err)
	}
	b, err := capi.MemorySeqPosMax(d.draft.side.memory, capi.SeqId(seq))
	if err != nil {
		t.Fatal(err)
	}
	return int(a), int(b)
}

// Whatever ends a row of drafts early, both contexts stand where they should and the next round is as if nothing had been.
func TestRoundsThatEndEarly(t *testing.T) {
	eachDrafter(t, func(t *testing.T, d *Device, text []gpu.Token) {
		n := len(text) - 1
		feed(t, d, 0, 0, text[:n])
		_, want := guess(t, d, 0, text, 2)
		last := n - d.draft.shift // position of the newest known token in the drafter's context
		for name, pick := range map[string]func(int, []float32) gpu.Token{
			"no draft at all":         func(int, []float32) gpu.Token { return -1 },
			"the second one is none":  func(i int, l []float32) gpu.Token { return argmax(l) - gpu.Token(i*len(l)) },
			"an end token, then none": func(i int, l []float32) gpu.Token { return gpu.Token(2 - 3*i) },
		} {
			rows := []gpu.DraftRow{{Seq: 0, History: text, Max: 4, Pick: pick}}
			if err := d.Drafter().Draft(rows); err != nil {
				t.Fatal(err)
			}
			if len(rows[0].Draft) > 1 {
				t.Errorf("%s: %d drafts", name, len(rows[0].Draft))
			}
			end := last + len(d.draft.seqs[0].loose) // a draft model keeps what it drafted, in case it is accepted
			if a, b := positions(t, d, 0); a != n-1 || b != end {
				t.Errorf("%s: the device ends at %d, not %d, the drafter at %d, not %d", name, a, n-1, b, end)
			}
			if _, got := guess(t, d, 0, text, 2); !sameRows(d, got, want) {
				t.Errorf("%s: other drafts afterwards", name)
			}
		}
		t.Run("an abort", func(t *testing.T) {
			rows := []gpu.DraftRow{{Seq: 0, History: text, Max: 4, Pick: func(_ int, l []float32) gpu.Token {
				d.Abort()
				return argmax(l)
			}}}
			if err := d.Drafter().Draft(rows); !errors.Is(err, gpu.ErrAborted) || len(rows[0].Draft) != 0 {
				t.Errorf("%v, %d drafts", err, len(rows[0].Draft))
			}
			if a, b := positions(t, d, 0); a != n-1 || b != last {
				t.Errorf("the device ends at %d, not %d, the drafter at %d, not %d", a, n-1, b, last)
			}
			if _, got := guess(t, d, 0, text, 2); !sameRows(d, got, want) {
				t.Error("other drafts afterwards")
			}
		})
		t.Run("the end of the drafter's context", func(t *testing.T) {
			room := d.draft.side.room
			defer func() { d.draft.side.room = room }()
			for free := range 3 {
				d.draft.side.room = last + free
				if drafts, _ := guess(t, d, 0, text, 4); len(drafts) != free {
					t.Errorf("%d drafts with room for %d", len(drafts), free)
				}
			}
		})
		t.Run("the length limit", func(t *testing.T) {
			if drafts, _ := guess(t, d, 0, text, 1); len(drafts) != 1 {
				t.Errorf("%d drafts, 1 was asked for", len(drafts))
			}
			if _, got := guess(t, d, 0, text, 2); !sameRows(d, got, want) {
				t.Error("other drafts afterwards")
			}
		})
	})
}

func TestCancelledSequencesLeaveNothing(t *testing.T) {
	eachDrafter(t, func(t *testing.T, d *Device, text []gpu.Token) {
		n := len(text) - 1
		feed(t, d, 0, 0, text[:n])
		_, want := guess(t, d, 0, text, 2)
		other := slices.Clone(text)
		slices.Reverse(other)
		steps := map[string]func() error{
			"after Observe": func() error { return nil },
			"after Draft": func() error {
				guess(t, d, 1, other, 3)
				return nil
			},
			"inside a prompt, before Observe": func() error {
				b := gpu.Batch{Items: []gpu.Item{{Seq: 1, Pos: n, Tokens: text[:2], Logits: 1}}}
				return errors.Join(d.Forward(&b), d.Trim(1, 0), d.Drafter().Observe(&b, []int{2}))
			},
			"before the first Observe": func() error {
				b := gpu.Batch{Items: []gpu.Item{{Seq: 1, Tokens: text[:2], Logits: 1}}}
				return errors.Join(d.Trim(1, 0), d.Forward(&b), d.Trim(1, 0), d.Drafter().Observe(&b, []int{2}))
			},
		}
		for name, cancelled := range steps {
			feed(t, d, 1, 0, other[:n])
			if err := errors.Join(cancelled(), d.Trim(1, 0)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if a, b := positions(t, d, 1); a != -1 || b != -1 {
				t.Errorf("%s: the device still ends at %d, the drafter at %d", name, a, b)
			}
			feed(t, d, 1, 0, text[:n])
			if _, got := guess(t, d, 1, text, 2); !sameRows(d, got, want) {
				t.Errorf("%s: other drafts for what came next", name)
			}
			if err := d.Trim(1, 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A long prompt is caught up with over several calls, and those that are not behind get their drafts meanwhile.
func TestLongPromptsAreCaughtUpInParts(t *testing.T) {
	d := open(t, both(eagle(t), func(o *Options) { o.MaxSeqs, o.KVTokens, o.MaxBatchTokens = 2, 4096, 1024 }))
	long := counting(1, 560)
	feed(t, d, 0, 0, long[:559])
	feed(t, d, 1, 0, long[:9])
	for call := 1; ; call++ {
		rows := []gpu.DraftRow{{Seq: 0, History: long, Max: 2}, {Seq: 1, History: long[:10], Max: 2}}
		if err := d.Drafter().Draft(rows); err != nil {
			t.Fatal(err)
		}
		if len(rows[1].Draft) != 2 {
			t.Errorf("call %d: %d drafts beside the long one", call, len(rows[1].Draft))
		}
		if len(rows[0].Draft) > 0 {
			if call != 2 {
				t.Errorf("the long one got its drafts in call %d", call)
			}
			return
		}
	}
}

func TestDraftersRefuseWrongCalls(t *testing.T) {
	eachDrafter(t, func(t *testing.T, d *Device, text []gpu.Token) {
		n := len(text) - 1
		feed(t, d, 0, 0, text[:n])
		_, want := guess(t, d, 0, text, 1)
		for name, rows := range map[string][]gpu.DraftRow{
			"no such sequence":    {{Seq: 99, History: text, Max: 1}},
			"a negative sequence": {{Seq: -1, History: text, Max: 1}},
			"too short a history": {{Seq: 0, History: text[:n], Max: 1}},
			"no history":          {{Seq: 0, Max: 1}},
			"a sequence twice":    {{Seq: 0, History: text, Max: 1}, {Seq: 0, History: text, Max: 1}},
			"a token from nowhere": {{Seq: 0, History: text, Max: 1, Pick: func(int, []float32) gpu.Token {
				return 1 << 30
			}}},
		} {
			old := gpu.DraftRow{Seq: 1, Draft: []gpu.Token{7}}
			rows = append(rows, old)
			if err := d.Drafter().Draft(rows); !errors.Is(err, gpu.ErrBatch) {
				t.Errorf("%s: %v", name, err)
			}
			if slices.ContainsFunc(rows, func(r gpu.DraftRow) bool { return len(r.Draft) > 0 }) {
				t.Errorf("%s: drafts of an earlier call are left", name)
			}
		}
		if rows := []gpu.DraftRow{{Seq: 0, History: text, Max: 0}}; d.Drafter().Draft(rows) != nil || len(rows[0].Draft) != 0 {
			t.Error("drafts although none were asked for")
		}
		trim(t, d, 0, math.MaxInt/4) // beyond what it holds: nothing to forget
		if _, got := guess(t, d, 0, text, 1); !sameRows(d, got, want) {
			t.Error("refused calls left something behind")
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		rows := []gpu.DraftRow{{Seq: 0, History: text, Max: 1, Draft: []gpu.Token{7}}}
		if d.Drafter().Draft(rows) == nil || d.Drafter().Observe(&gpu.Batch{}, nil) == nil || len(rows[0].Draft) != 0 {
			t.Errorf("a closed device: %v", rows[0].Draft)
		}
	})
}

func TestHeadsRefuseWhatTheyDidNotSee(t *testing.T) {
	d := open(t, both(mtp(t, mtpRandom), func(o *Options) { o.KVTokens = 2048 }))
	text := counting(5, 20)
	b := gpu.Batch{Items: []gpu.Item{{Seq: 0, Tokens: text[:8], Logits: 1}}}
	if err := d.Forward(&b); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b    *gpu.Batch
		kept []int
	}{
		"no batch":          {nil, nil},
		"another batch":     {&gpu.Batch{Items: []gpu.Item{{Seq: 1, Tokens: text[:8]}}}, []int{8}},
		"more than it held": {&b, []int{9}},
		"less than none":    {&b, []int{-1}},
		"no numbers":        {&b, nil},
	} {
		if err := d.Drafter().Observe(c.b, c.kept); !errors.Is(err, gpu.ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A Forward that was not observed leaves a gap: no drafts, and none after it either, until the sequence starts anew.
	feed(t, d, 0, 8, text[8:12])
	if drafts, _ := guess(t, d, 0, text[:13], 2); len(drafts) != 0 {
		t.Errorf("%d drafts although rows are missing", len(drafts))
	}
	if err := d.Trim(0, 0); err != nil {
		t.Fatal(err)
	}
	feed(t, d, 0, 0, text[:12])
	if drafts, _ := guess(t, d, 0, text[:13], 2); len(drafts) != 2 {
		t.Errorf("%d drafts after it started anew", len(drafts))
	}
}
