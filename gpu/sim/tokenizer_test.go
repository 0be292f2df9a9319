package sim

import (
	"strings"
	"testing"
)

func decode(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(Tokenizer{}.Piece(t))
	}
	return b.String()
}

func TestMarkersAreTokensOnlyWhenSpecial(t *testing.T) {
	const text = "<|im_start|>hé<|im_end|>"
	plain, err := Tokenizer{}.Encode(text, false)
	if err != nil || decode(plain) != text || len(plain) != len(text) {
		t.Errorf("%v %v", plain, err)
	}
	special, err := Tokenizer{}.Encode(text, true)
	if err != nil || len(special) != 5 || special[0] != TokenStart || special[4] != TokenEnd || decode(special) != "hé" {
		t.Errorf("%v %v", special, err)
	}
	if !(Tokenizer{}).IsEnd(special[4]) || (Tokenizer{}).IsEnd(special[0]) {
		t.Error("ends")
	}
	if _, err := (Tokenizer{}).Encode("a\x00b", false); err == nil {
		t.Error("a NUL byte passed")
	}
}

func FuzzTokenizer(f *testing.F) {
	f.Add("hello <|im_end|>", true)
	f.Add("\xff\x00", false)
	f.Fuzz(func(t *testing.T, text string, special bool) {
		tokens, err := Tokenizer{}.Encode(text, special)
		if (err != nil) != strings.Contains(text, "\x00") {
			t.Fatal(err)
		}
		want := text
		if special {
			want = strings.NewReplacer(startText, "", endText, "").Replace(text)
		}
		if err == nil && decode(tokens) != want {
			t.Fatalf("%q became %q", want, decode(tokens))
		}
		for _, x := range tokens {
			if x < 0 || x >= VocabSize {
				t.Fatal(x)
			}
		}
	})
}
