package llama

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/gpu"
)

// shared is one device for tests that only tokenize.
var shared = sync.OnceValues(func() (*Device, error) {
	libs, _, fast, err := DefaultPaths()
	if err != nil {
		return nil, err
	}
	return Open(Options{LibDir: libs, ModelPath: fast, Device: DeviceCPU, Threads: 1, KVTokens: 256, MaxSeqs: 1})
})

func tokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	testPaths(t)
	d, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return d.Tokenizer()
}

func spell(tok *Tokenizer, toks []gpu.Token) string {
	var b bytes.Buffer
	for _, t := range toks {
		b.Write(tok.Piece(t))
	}
	return b.String()
}

// lacking are the control characters that this model's vocabulary has no token for: they get lost.
var lacking = strings.NewReplacer("\x04", "", "\x06", "", "\x13", "", "\x14", "", "\x16", "", "\x1d", "")

func TestTextSurvivesTokenizing(t *testing.T) {
	tok := tokenizer(t)
	rapid.Check(t, func(t *rapid.T) {
		text := lacking.Replace(strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", ""))
		toks, err := tok.Encode(text, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := spell(tok, toks); got != text {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}

// The server's clients choose these bytes.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", " ", "\n\n\n", "\xff\xfe\xfd", "a\xc3", "\xed\xa0\x80", "\u202e\u200d👩‍👩‍👧", "<|im_start|>system", "<|im_end",
		strings.Repeat("ab ", 3000), strings.Repeat("é", 5000), "\x04\x06", "\ufeff\U0010ffff", "'s't're", "1234567890" + strings.Repeat("0", 5000)} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, special bool) {
		tok := tokenizer(t)
		toks, err := tok.Encode(text, special)
		if strings.Contains(text, "\x00") {
			if !errors.Is(err, ErrUsage) {
				t.Fatalf("a NUL byte: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range toks {
			if x < 0 || int(x) >= 49152 {
				t.Fatalf("token %d", x)
			}
		}
		if got := spell(tok, toks); !special && utf8.ValidString(text) && got != lacking.Replace(text) {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}

func TestNULIsRefused(t *testing.T) {
	tok := tokenizer(t)
	for _, text := range []string{"\x00", "a\x00b", "end\x00"} {
		if toks, err := tok.Encode(text, true); !errors.Is(err, ErrUsage) || toks != nil {
			t.Errorf("%q: %v %v", text, toks, err)
		}
	}
}

func TestSpecialTokensOnlyWhenAsked(t *testing.T) {
	tok := tokenizer(t)
	end, err := tok.Encode("<|im_end|>", true)
	if err != nil || len(end) != 1 || !tok.IsEnd(end[0]) {
		t.Fatalf("with special: %v %v", end, err)
	}
	if p := tok.Piece(end[0]); len(p) != 0 {
		t.Errorf("a control token has the piece %q", p)
	}
	plain, err := tok.Encode("<|im_end|>", false)
	if err != nil || len(plain) < 2 || spell(tok, plain) != "<|im_end|>" {
		t.Errorf("without special: %v %v", plain, err)
	}
	for _, x := range plain {
		if tok.IsEnd(x) {
			t.Errorf("text from a client becomes the end token %d", x)
		}
	}
}

func TestVocabularyEdges(t *testing.T) {
	tok := tokenizer(t)
	for _, x := range []gpu.Token{-1, 49152, 1 << 30, -1 << 31} {
		if tok.Piece(x) != nil || tok.IsEnd(x) {
			t.Errorf("token %d has a piece or ends", x)
		}
	}
	if _, ok := tok.AddsBOS(); ok {
		t.Error("this model does not ask for BOS")
	}
	template, bos, eos := tok.ChatTemplate()
	if !strings.Contains(template, "<|im_start|>") || bos != "<|im_start|>" || eos != "<|im_end|>" {
		t.Errorf("template %q, bos %q, eos %q", template, bos, eos)
	}
}

func TestLongRunsAreCutAndSpellTheSame(t *testing.T) {
	for _, unit := range []string{"a", " ", "!", "é", "7", "\xff", "漢", "ab1,"} {
		text := strings.Repeat(unit, 20000)
		rest, cuts := text, 0
		for rest != "" {
			n := cutRun(rest)
			if n <= 0 || n > maxRun*len(unit) && utf8.RuneCountInString(rest[:n]) > maxRun {
				t.Fatalf("%q: cut at %d", unit, n)
			}
			rest, cuts = rest[n:], cuts+1
		}
		if cuts < 4 {
			t.Errorf("%q: %d pieces", unit, cuts)
		}
	}
	if n := cutRun(strings.Repeat("word ", 5000)); n != 25000 {
		t.Errorf("ordinary text is cut at %d", n)
	}
	if text := strings.Repeat("x", 3000) + "," + strings.Repeat("y", 3000); cutRun(text) != 3001 && cutRun(text) != 3000 {
		t.Errorf("cut at %d, not beside the comma", cutRun(text))
	}
}

// The pre-tokenizer of Mistral's and OpenAI's open models overflows the stack on such texts unless they are cut. The
// file here is this model with another name for its pre-tokenizer.
func TestLongRunsDoNotEndTheProcess(t *testing.T) {
	_, published, _ := testPaths(t)
	path := patch(t, published, "tokenizer.ggml.pre", afterKind+8, []byte("tekken"))
	d := open(t, func(o *Options) { o.ModelPath = path })
	for _, unit := range []string{"a", " ", "!", "é", "x1"} {
		text := strings.Repeat(unit, 120000)
		toks, err := d.Tokenizer().Encode(text, false)
		if err != nil || spell(d.Tokenizer(), toks) != text {
			t.Errorf("%q times 120000: %v, %d tokens", unit, err, len(toks))
		}
	}
}

// A vocabulary that spells U+FFFD with more than one token makes more tokens of bytes that are not UTF-8 than there are bytes.
// The file here is this model without the rule that joins them.
func TestMoreTokensThanBytes(t *testing.T) {
	_, _, fast := testPaths(t)
	data, err := os.ReadFile(fast)
	if err != nil {
		t.Fatal(err)
	}
	rule := []byte("ï¿ ½")
	at := bytes.Index(data, append(binary.LittleEndian.AppendUint64(nil, uint64(len(rule))), rule...))
	if at < 0 {
		t.Fatal("the model has no such rule")
	}
	copy(data[at+8:], "ï¿ ¿")
	d := open(t, func(o *Options) { o.ModelPath = write(t, data) })
	toks, err := d.Tokenizer().Encode(strings.Repeat("\xff", 3000), false)
	if err != nil || len(toks) != 6000 || spell(d.Tokenizer(), toks) != strings.Repeat("\ufffd", 3000) {
		t.Errorf("%d tokens, %v", len(toks), err)
	}
}
