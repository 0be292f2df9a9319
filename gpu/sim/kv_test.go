package sim

import (
	"errors"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

var abc = []gpu.Token{'a', 'b', 'c', 'd', 'e', 'f'}

// fails reports a call that did not fail, or not as it should.
func fails(t *testing.T, what string, err, want error) {
	t.Helper()
	if err == nil || want != nil && !errors.Is(err, want) {
		t.Errorf("%s: %v, want an error (%v)", what, err, want)
	}
}

func TestACopyGoesOnLikeItsSourceAndSharesItsKVWhereTheDeviceDoes(t *testing.T) {
	for _, share := range []bool{true, false} {
		d := open(t, Options{CopyMin: 1, SpareSeqs: 1, SharedKV: share, MaxSeqs: 2, KVTokens: 16})
		if i := d.Info(); i.SharedKV != share || i.CopyMin != 1 || i.SpareSeqs != 1 || i.CanSave {
			t.Errorf("info %+v", i)
		}
		forward(t, d, gpu.Item{Seq: 0, Tokens: abc, Logits: 1})
		want := logits(t, d, 0, 0)
		if err := d.Copy(0, 2, 5); err != nil {
			t.Fatal(err)
		}
		held := 6 + 5
		if share {
			held = 6
		}
		if d.Held() != held {
			t.Errorf("shared %v: %d tokens are held, want %d", share, d.Held(), held)
		}
		forward(t, d, gpu.Item{Seq: 2, Pos: 5, Tokens: abc[5:], Logits: 1})
		if !slices.Equal(logits(t, d, 0, 0), want) {
			t.Error("the copy goes on in another way")
		}
		for _, seq := range []int{0, 2} {
			if err := d.Trim(seq, 0); err != nil {
				t.Fatal(err)
			}
		}
		if d.Held() != 0 {
			t.Errorf("%d tokens are held after all is forgotten", d.Held())
		}
	}
}

func TestCopySaveAndRestoreRefuseWhatARealDeviceWould(t *testing.T) {
	d := open(t, Options{MaxSeqs: 2, KVTokens: 8})
	forward(t, d, gpu.Item{Seq: 0, Tokens: abc})
	fails(t, "copy on a device that cannot", d.Copy(0, 1, 2), gpu.ErrUnsupported)
	_, err := d.Save(0)
	fails(t, "save on a device that cannot", err, gpu.ErrUnsupported)

	d = open(t, Options{MaxSeqs: 3, KVTokens: 10, CopyMin: 1, CanSave: true})
	forward(t, d, gpu.Item{Seq: 0, Tokens: abc})
	fails(t, "copy to itself", d.Copy(0, 0, 2), nil)
	fails(t, "copy of more than there is", d.Copy(0, 1, 7), nil)
	fails(t, "copy of nothing", d.Copy(0, 1, 0), nil)
	fails(t, "copy to a sequence that is not there", d.Copy(0, 3, 1), nil)
	fails(t, "copy without room", d.Copy(0, 1, 5), gpu.ErrNoKV)
	_, err = d.Save(1)
	fails(t, "save of nothing", err, nil)
	saved, err := d.Save(0)
	if err != nil || saved.Tokens != 6 {
		t.Fatalf("saved %+v, %v", saved, err)
	}
	fails(t, "restore without room", d.Restore(1, saved), gpu.ErrNoKV)
	fails(t, "restore over something", d.Restore(0, saved), nil)
	fails(t, "restore of nothing", d.Restore(1, nil), nil)
	fails(t, "restore of what is no sequence", d.Restore(1, &gpu.Saved{Tokens: 1, State: 1}), nil)
	other := open(t, Options{MaxSeqs: 3, CanSave: true})
	fails(t, "restore of another device's", other.Restore(1, saved), nil)
	cannot := open(t, Options{MaxSeqs: 3})
	fails(t, "restore on a device that cannot", cannot.Restore(1, saved), gpu.ErrUnsupported)
	if d.Held() != 6 {
		t.Errorf("%d tokens are held after refusals, want 6", d.Held())
	}
}

func TestWhatWasSavedGoesOnAsItWas(t *testing.T) {
	d := open(t, Options{CanSave: true})
	forward(t, d, gpu.Item{Seq: 0, Tokens: abc[:5]})
	saved, err := d.Save(0)
	if err != nil {
		t.Fatal(err)
	}
	forward(t, d, gpu.Item{Seq: 0, Pos: 5, Tokens: abc[5:], Logits: 1})
	want := logits(t, d, 0, 0)
	for seq := 1; seq < 3; seq++ { // any number of times
		if err := d.Restore(seq, saved); err != nil {
			t.Fatal(err)
		}
		forward(t, d, gpu.Item{Seq: seq, Pos: 5, Tokens: abc[5:], Logits: 1})
		if !slices.Equal(logits(t, d, 0, 0), want) {
			t.Error("it goes on in another way")
		}
	}
	if d.Held() != 18 {
		t.Errorf("%d tokens are held, want 18", d.Held())
	}
}

// However sequences share, what is held is the union of what they hold.
func TestHeldIsTheUnionOfWhatSequencesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Bool().Draw(t, "share")
		d := Open(mustProfile(CPUProfile), Options{CopyMin: 1, SharedKV: share, MaxSeqs: 4, KVTokens: 40})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			a, b, n := rapid.IntRange(0, 3).Draw(t, "a"), rapid.IntRange(0, 3).Draw(t, "b"), rapid.IntRange(0, 9).Draw(t, "n")
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				_ = d.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: a, Pos: len(d.History(a)), Tokens: make([]gpu.Token, n)}}})
			case 1:
				_ = d.Copy(a, b, n)
			default:
				if err := d.Trim(a, n); err != nil {
					t.Fatal(err)
				}
			}
			union := map[int32]bool{}
			for i := range d.seqs {
				if len(d.seqs[i].cell) != len(d.seqs[i].tokens) {
					t.Fatalf("sequence %d has %d cells for %d tokens", i, len(d.seqs[i].cell), len(d.seqs[i].tokens))
				}
				for _, c := range d.seqs[i].cell {
					if union[c] && !share {
						t.Fatalf("cell %d is held twice", c)
					}
					union[c] = true
				}
			}
			if d.Held() != len(union) || d.Held() > 40 {
				t.Fatalf("%d tokens are held, counted %d", len(union), d.Held())
			}
		}
	})
}
