package grammar

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"pgregory.net/rapid"
)

// bytewise is a vocabulary in which each byte is a token.
var bytewise = NewVocab(sim.Tokenizer{}, sim.VocabSize)

func parse(t testing.TB, src string) *Grammar {
	t.Helper()
	g, err := Parse(src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return g
}

// matches tells whether text is one of the grammar's, and whether it begins one.
func matches(g *Grammar, text string) (whole, begins bool) {
	m := g.Matcher(bytewise)
	for _, b := range []byte(text) {
		if !m.Allows(gpu.Token(b)) {
			return false, false
		}
		m.Accept(gpu.Token(b))
	}
	return m.m.now.accepting, true
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		src     string
		yes, no string // texts, separated by |
	}{
		{`root ::= "yes" | "no"`, "yes|no", "ye|yesno|x|"},
		{"root ::= a b? # comment\n\n# more\na ::=\n  \"x\" |\n  \"y\"\nb ::= ( \"1\"\n \"2\" )*", "x|y|x12|y1212", "12|x1|xx"},
		{`root ::= [a-c]{2,3} [^0-9]`, "abx|abcé|abc|ab\n", "a|ab1|abcde"},
		{`root ::= "a"{3} "b"{2,} "c"{0,2}`, "aaabb|aaabbbbcc", "aabb|aaab|aaabbccc"},
		{`root ::= [\x41-\x43\]\-] "\t\"\\" "\u00e9" "\U0001F600"`, "A\t\"\\é😀|]\t\"\\é😀|-\t\"\\é😀", "D\t\"\\é😀"},
		{`root ::= .`, "x|é|漢|😀|\n", "xx|"},
		{`root ::= [^a]`, "b|é|漢|😀", "a"},
		{`root ::= [é-漢]`, "é|漢|߿|ࠀ", "è|漣"},
		{"root ::= s\ns ::= \"(\" s \")\" s | \"\"", "()|(())()|((()))", "(|)|(()"},
		{"root ::= e\ne ::= t ((\"+\" | \"-\") t)*\nt ::= [0-9]+ | \"(\" e \")\"", "1|12+3|(1-2)+3|((1))", "+|1+|(1"},
		{"root ::= \"a\" root | \"b\"", "b|aab", "a|ba"},
		{`root ::= ("a"*)* "b"`, "b|aaab", "a|ba"},
		{`root ::= ""`, "", "x"},
	} {
		g := parse(t, c.src)
		for _, text := range strings.Split(c.yes, "|") {
			if whole, _ := matches(g, text); !whole {
				t.Errorf("%s does not take %q", c.src, text)
			}
		}
		for _, text := range strings.Split(c.no, "|") {
			if whole, _ := matches(g, text); whole && !(text == "" && c.src == `root ::= ""`) {
				t.Errorf("%s takes %q", c.src, text)
			}
		}
	}
}

// What cannot be followed within bounds, or is no grammar, is refused with its line.
func TestRefusedGrammars(t *testing.T) {
	deep := strings.Repeat("(", MaxNesting+2) + `"a"` + strings.Repeat(")", MaxNesting+2)
	for src, want := range map[string]string{
		``:                                     "no rule root",
		`a ::= "x"`:                            "no rule root",
		"root ::= \"x\"\nroot ::= \"y\"":       "line 2: rule root is there twice",
		"root ::= a":                           "no rule a",
		"root ::= \"x":                         "not closed",
		"root ::= [a":                          "not closed",
		"root ::= (\"a\"":                      "not closed",
		"root ::= [b-a]":                       "backwards",
		"root ::= []":                          "holds none",
		`root ::= "\q"`:                        "no escape",
		`root ::= "\uD800"`:                    "no character",
		`root = "a"`:                           "::= must follow",
		"root ::= \"a\" )":                     "must end here",
		"root ::= \"a\"{2,1}":                  "less often",
		"root ::= \"a\"{9999}":                 "counts to",
		"root ::= \"a\"{99999999999999999999}": "counts to",
		"root ::= \"a\"{,2}":                   "a number must stand",
		"root ::= <think>":                     "tokens cannot be named",
		"root ::= \"a\"\x00":                   "must end here",
		"root ::= \"\xff\"":                    "not UTF-8",
		"root ::= root \"a\" | \"b\"":          "begins with itself",
		"root ::= a\na ::= x root | \"b\"\nx ::= \"q\"?": "begins with itself",
		"root ::= root":                         "ever ends",
		"root ::= \"a\" root":                   "ever ends",
		"root ::= " + deep:                      "nested deeper",
		"root ::= ((\"ab\"{4096}){4096}){4096}": "too large",
		"root ::= ((((){4096}){4096}){4096})":   "too large",
		"root ::= \"a\"*****":                   "too many signs",
		strings.Repeat(" ", MaxSource+1):        "at most",
	} {
		_, err := Parse(src)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", src, err, want)
		}
	}
}

// A grammar of three lines whose readings double with each character stays within its bounds, and what is written is one of its
// texts nevertheless.
func TestReadingsAreBounded(t *testing.T) {
	g := parse(t, "root ::= s\ns ::= \"a\" s x | \"a\" s y | \"b\"\nx ::= \"c\"\ny ::= \"d\"")
	m := g.Matcher(bytewise)
	const depth = 40
	for range depth {
		if !m.Allows('a') {
			t.Fatal("a is not allowed")
		}
		m.Accept('a')
		if n := len(m.m.now.readings); n > maxReadings {
			t.Fatalf("%d readings", n)
		}
	}
	m.Accept('b')
	for i := range depth {
		if !m.Allows('c') && !m.Allows('d') {
			t.Fatalf("nothing is allowed after %d closing characters", i)
		}
		m.Accept('c')
	}
	if !m.m.now.accepting {
		t.Error("the text is complete but may not end")
	}
}

// Mask and Allows say the same, whatever was asked before.
func TestMaskAgreesWithAllows(t *testing.T) {
	g := parse(t, JSON)
	rapid.Check(t, func(t *rapid.T) {
		m := g.Matcher(bytewise)
		var taken []gpu.Token
		for range rapid.IntRange(0, 60).Draw(t, "length") {
			fresh := g.Matcher(bytewise)
			for _, tok := range taken {
				fresh.Accept(tok)
			}
			logits := make([]float32, sim.VocabSize)
			m.Mask(logits)
			var free []gpu.Token
			for i, l := range logits {
				allowed := !math.IsInf(float64(l), -1)
				if fresh.Allows(gpu.Token(i)) != allowed {
					t.Fatalf("token %d: mask says %v", i, allowed)
				}
				if allowed && i < 256 {
					free = append(free, gpu.Token(i))
				}
			}
			if len(free) == 0 {
				return
			}
			taken = append(taken, rapid.SampledFrom(free).Draw(t, "token"))
			m.Accept(taken[len(taken)-1])
		}
	})
}

// words has tokens of several bytes, some of which end inside of a character.
type words struct{ sim.Tokenizer }

var pieces = []string{"{", "}", `{"`, `":`, `": `, "tr", "ue", "true", "\xe6", "\xbc\xa2", `"`, "a", `",`, "[[", "]]", `\`, `\u00`, "1e", "", "9"}

func (words) Piece(t gpu.Token) []byte { return []byte(pieces[t]) }
func (words) IsEnd(t gpu.Token) bool   { return pieces[t] == "" }

func TestTokensOfManyBytes(t *testing.T) {
	v := NewVocab(words{}, len(pieces))
	g := parse(t, JSON)
	rapid.Check(t, func(t *rapid.T) {
		m := g.Matcher(v)
		var text []byte
		for range rapid.IntRange(1, 30).Draw(t, "length") {
			logits := make([]float32, len(pieces))
			m.Mask(logits)
			for i, p := range pieces {
				_, begins := matches(g, string(text)+p)
				if allowed := logits[i] == 0; p != "" && allowed != begins {
					t.Fatalf("%q after %q: mask %v, byte by byte %v", p, text, allowed, begins)
				}
			}
			var free []int
			for i, l := range logits {
				if l == 0 {
					free = append(free, i)
				}
			}
			next := rapid.SampledFrom(free).Draw(t, "token")
			m.Accept(gpu.Token(next))
			text = append(text, pieces[next]...)
			if pieces[next] == "" {
				return
			}
		}
	})
}

// A class of characters takes exactly its characters, in their encoding.
func TestClassesAreTheirCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Rune().Draw(t, "a"), rapid.Rune().Draw(t, "b")
		c := class{{min(a, b), max(a, b)}}
		r := rapid.Rune().Draw(t, "r")
		enc := utf8.AppendRune(nil, r)
		taken := false
		for _, s := range c.sequences() {
			if len(s) != len(enc) {
				continue
			}
			in := true
			for i := range s {
				in = in && s[i].lo <= enc[i] && enc[i] <= s[i].hi
			}
			taken = taken || in
		}
		if want := c[0].lo <= r && r <= c[0].hi; taken != want && utf8.ValidRune(r) {
			t.Fatalf("%U in %U-%U: %v", r, c[0].lo, c[0].hi, taken)
		}
	})
}

// A long text does not fill memory with what it was.
func TestALongTextForgetsWhereItWas(t *testing.T) {
	g := parse(t, "root ::= item*\nitem ::= \"[\" item* \"]\" | [a-z]{1,50} \";\"")
	m := g.Matcher(bytewise)
	for i := range 20_000 {
		text := strings.Repeat("[", i%30) + "abc;" + strings.Repeat("]", i%30)
		for _, b := range []byte(text) {
			m.Accept(gpu.Token(b))
		}
		if m.m.now.dead() {
			t.Fatalf("text %d is not taken", i)
		}
	}
	if len(m.m.states) > 8*maxStates || len(m.m.frames) > maxFrames {
		t.Errorf("%d states, %d stacks", len(m.m.states), len(m.m.frames))
	}
}

// Whatever is asked for, parsing neither panics nor takes long, and what is taken can be followed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{JSON, `root ::= "a"`, "root ::= (a|b)*\na::=[^x]{2,}\nb::=.+", "root ::= \"\\x41\" # c", `root ::= "a"{2,3}?*`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		g, err := Parse(src)
		if err != nil {
			return
		}
		m := g.Matcher(bytewise)
		for range 20 {
			logits := make([]float32, sim.VocabSize)
			m.Mask(logits)
			next := -1
			for i, l := range logits {
				if l == 0 {
					next = i
				}
			}
			if next < 0 {
				t.Fatal("nothing is allowed, not even the end")
			}
			if next >= 256 {
				return
			}
			m.Accept(gpu.Token(next))
		}
	})
}
