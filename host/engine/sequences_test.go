package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/sched"
	"pgregory.net/rapid"
)

// frail is a device whose KV operations fail when they are told to.
type frail struct {
	*sim.Device
	copy, save, restore, cut, empty bool // to cut and to empty are both Trim
}

var errFrail = errors.New("out of order")

func (f *frail) Copy(from, to, n int) error {
	if f.copy {
		return errFrail
	}
	return f.Device.Copy(from, to, n)
}

func (f *frail) Save(seq int) (*gpu.Saved, error) {
	if f.save {
		return nil, errFrail
	}
	return f.Device.Save(seq)
}

func (f *frail) Restore(seq int, s *gpu.Saved) error {
	if f.restore {
		return errFrail
	}
	return f.Device.Restore(seq, s)
}

func (f *frail) Trim(seq, pos int) error {
	if pos > 0 && f.cut || pos == 0 && f.empty {
		return errFrail
	}
	return f.Device.Trim(seq, pos)
}

// Recycle spoils what is not needed any more, as a device does that saves something else into its memory.
func (f *frail) Recycle(s *gpu.Saved) { *s = gpu.Saved{} }

func openFrail(t testing.TB) *frail {
	p, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	return &frail{Device: sim.Open(p, sim.Options{MaxSeqs: 4, KVTokens: 512, ContextTokens: 128, MaxBatchTokens: 128, CopyMin: 1, CanSave: true})}
}

func tokens(text string) []gpu.Token {
	t, _ := sim.Tokenizer{}.Encode(text, false)
	return t
}

// hold computes text on a sequence.
func hold(t testing.TB, q *sequences, seq int, text []gpu.Token) {
	t.Helper()
	if err := q.dev.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: seq, Tokens: text}}}); err != nil {
		t.Fatal(err)
	}
	q.holds(seq, text)
}

func rowAt(seq, start int) *sched.Row { return &sched.Row{Seq: seq, Start: start, Tokens: 1} }

func TestNobodyGoesOnFromAnotherTextWhateverItsHashSays(t *testing.T) {
	q := newSequences(openFrail(t))
	hold(t, &q, 0, tokens("the secret of one tenant"))
	other := tokens("the public text of another")
	if err := q.apply(&sched.Op{Kind: sched.OpCopy, From: 0, Seq: 1, Tokens: 16}); err != nil {
		t.Fatal(err)
	}
	if q.ready(rowAt(1, 16), 7, other) {
		t.Error("a request runs on tokens that are not its own")
	}
	if !q.ready(rowAt(1, 4), 7, other) {
		t.Error("the four tokens that both begin with are not used")
	}
	if held := q.dev.(*frail).History(1); len(held) != 4 {
		t.Errorf("the device holds %d tokens", len(held))
	}
}

func TestAFailureCostsTheRequestItsKVAndLeavesTheSequenceUsable(t *testing.T) {
	text := tokens("a text to go on from")
	n := len(text)
	for name, c := range map[string]struct {
		broken func(*frail)
		ops    []sched.Op
	}{
		"save":              {func(f *frail) { f.save = true }, []sched.Op{{Kind: sched.OpSave, Seq: 0, ID: 7}, {Kind: sched.OpTrim, Seq: 0}, {Kind: sched.OpRestore, Seq: 1, ID: 7}}},
		"restore":           {func(f *frail) { f.restore = true }, []sched.Op{{Kind: sched.OpSave, Seq: 0, ID: 7}, {Kind: sched.OpRestore, Seq: 1, ID: 7}}},
		"copy":              {func(f *frail) { f.copy = true }, []sched.Op{{Kind: sched.OpCopy, From: 0, Seq: 1, Tokens: n}}},
		"trim":              {func(f *frail) { f.cut, f.empty = true, true }, []sched.Op{{Kind: sched.OpCopy, From: 0, Seq: 1, Tokens: n}, {Kind: sched.OpTrim, Seq: 1, Tokens: n - 1}}},
		"nothing was saved": {func(*frail) {}, []sched.Op{{Kind: sched.OpRestore, Seq: 1, ID: 8}}},
		"forgotten":         {func(*frail) {}, []sched.Op{{Kind: sched.OpSave, Seq: 0, ID: 7}, {Kind: sched.OpForget, ID: 7}, {Kind: sched.OpRestore, Seq: 1, ID: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			dev := openFrail(t)
			q := newSequences(dev)
			hold(t, &q, 0, text)
			c.broken(dev)
			failed := 0
			for i := range c.ops {
				if q.apply(&c.ops[i]) != nil {
					failed++
				}
			}
			if failed == 0 {
				t.Error("nobody hears of the failure")
			}
			if q.ready(rowAt(1, n), 7, text) || q.ready(rowAt(1, n-1), 7, text) {
				t.Error("the request goes on from what is not there")
			}
			*dev = frail{Device: dev.Device}
			if !q.ready(rowAt(1, 0), 7, text) || len(dev.History(1)) != 0 {
				t.Error("the sequence is not usable any more")
			}
			if len(q.saved) != 0 && name != "save" || q.bytes != 0 {
				t.Errorf("%d saved, %d bytes", len(q.saved), q.bytes)
			}
		})
	}
}

// A row is computed exactly when the device holds its text, after any operations with any failures, and the record of what
// the device holds never says more than is there.
func TestTheRecordOfTheKVNeverSaysMoreThanTheDeviceHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := sim.ParseProfile(sim.CPUProfile)
		dev := &frail{Device: sim.Open(p, sim.Options{MaxSeqs: 3, KVTokens: 4096, ContextTokens: 256, MaxBatchTokens: 128, CopyMin: 1, CanSave: true})}
		q := newSequences(dev)
		texts := [][]gpu.Token{tokens("aaaaaaaaaaaa"), tokens("aaaabbbbcccc"), tokens("aaaabbbbdddd")}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			for _, b := range []*bool{&dev.copy, &dev.save, &dev.restore, &dev.cut, &dev.empty} {
				*b = rapid.IntRange(0, 5).Draw(t, "fails") == 0
			}
			op := sched.Op{
				Kind: sched.OpKind(rapid.IntRange(0, 4).Draw(t, "kind")), Seq: rapid.IntRange(0, 2).Draw(t, "seq"),
				From: rapid.IntRange(0, 2).Draw(t, "from"), Tokens: rapid.IntRange(0, 12).Draw(t, "tokens"), ID: uint64(rapid.IntRange(1, 2).Draw(t, "id")),
			}
			_ = q.apply(&op)
			who := rapid.IntRange(0, 2).Draw(t, "text")
			row := rowAt(rapid.IntRange(0, 2).Draw(t, "row"), rapid.IntRange(0, 11).Draw(t, "start"))
			text := texts[who]
			if q.ready(row, uint64(who+1), text) {
				if held := dev.History(row.Seq); !slices.Equal(held, text[:row.Start]) {
					t.Fatalf("ready for %q, and the device holds %q", piece(text[:row.Start]), piece(held))
				}
				n := rapid.IntRange(1, 12-row.Start).Draw(t, "n")
				if err := dev.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: row.Seq, Pos: row.Start, Tokens: text[row.Start : row.Start+n]}}}); err != nil {
					t.Fatal(err)
				}
				q.holds(row.Seq, text[:row.Start+n])
			}
			for seq := range q.seqs {
				if held := dev.History(seq); !q.seqs[seq].dirty && !slices.Equal(held, q.seqs[seq].tokens) {
					t.Fatalf("sequence %d: the record says %q, the device holds %q", seq, piece(q.seqs[seq].tokens), piece(held))
				}
			}
		}
	})
}

func piece(ts []gpu.Token) string {
	var b strings.Builder
	for _, t := range ts {
		b.Write(sim.Tokenizer{}.Piece(t))
	}
	return b.String()
}

func TestBlocksAreNamedByAllTokensUpToTheirEnd(t *testing.T) {
	h := newHasher(4, false)
	name := func(tenant, text string) []uint64 { return h.extend(nil, h.root(tenant), tokens(text)) }
	a, b := name("", "aaaabbbbccccdd"), name("", "aaaaxbbbccccdd")
	if len(a) != 3 || a[0] != b[0] || a[1] == b[1] || a[2] == b[2] {
		t.Errorf("%x and %x", a, b)
	}
	if grown := h.extend(slices.Clone(a[:1]), h.root(""), tokens("aaaabbbbccccdd")); !slices.Equal(grown, a) {
		t.Errorf("grown to %x, want %x", grown, a)
	}
	if !slices.Equal(name("one", "aaaa"), name("two", "aaaa")) {
		t.Error("tenants share nothing, though they may")
	}
	if other := newHasher(4, false); slices.Equal(other.extend(nil, other.root(""), tokens("aaaa")), a[:1]) {
		t.Error("two processes name blocks alike: a client could foresee them")
	}
	h = newHasher(4, true)
	if slices.Equal(name("one", "aaaa"), name("two", "aaaa")) {
		t.Error("tenants share, though they must not")
	}
}
