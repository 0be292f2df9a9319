package server

import (
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// chooseName is the function that stands for "X if C else Y" in brackets, which the template library cannot read there.
const chooseName = "Sq7xSluiceChoose"

// choose is C, X, Y: X where C holds, else Y. Both are evaluated.
func choose(_ *exec.Evaluator, args *exec.VarArgs) *exec.Value {
	if c := args.Args[0]; !c.IsNil() && c.IsTrue() {
		return args.Args[1]
	}
	return args.Args[2]
}

// inlineConditions rewrites a template's conditions in brackets into calls of choose.
func inlineConditions(source string) string {
	in := &inliner{s: source}
	for in.i < len(in.s) {
		rest := in.s[in.i:]
		at := strings.IndexByte(rest, '{')
		if at < 0 || at+1 == len(rest) {
			in.copy(len(rest))
			break
		}
		in.copy(at)
		switch rest[at+1] {
		case '#':
			end := strings.Index(rest[at:], "#}")
			in.copy(max(end, 2))
		case '{', '%':
			closing := "}}"
			if rest[at+1] == '%' {
				closing = "%}"
			}
			in.copy(2)
			in.out.WriteString(in.group(closing))
		default:
			in.copy(1)
		}
	}
	return in.out.String()
}

// inliner reads a template from s[i:].
type inliner struct {
	s   string
	i   int
	out strings.Builder
}

func (in *inliner) copy(n int) {
	in.out.WriteString(in.s[in.i : in.i+n])
	in.i += n
}

var brackets = map[byte]string{'(': ")", '[': "]", '{': "}"}

// group returns what stands up to closing, and with it. In brackets its parts, which commas separate, may be conditions.
func (in *inliner) group(closing string) string {
	var parts strings.Builder
	var part []byte
	flush := func() {
		if len(closing) == 1 {
			parts.WriteString(condition(string(part)))
		} else {
			parts.Write(part)
		}
		part = part[:0]
	}
	for in.i < len(in.s) {
		c := in.s[in.i]
		switch {
		case strings.HasPrefix(in.s[in.i:], closing):
			in.i += len(closing)
			flush()
			return parts.String() + closing
		case c == '"' || c == '\'':
			part = append(part, in.quoted(c)...)
		case brackets[c] != "":
			in.i++
			part = append(append(part, c), in.group(brackets[c])...)
		case c == ',':
			in.i++
			flush()
			parts.WriteByte(c)
		default:
			in.i++
			part = append(part, c)
		}
	}
	flush()
	return parts.String()
}

// quoted returns a text with its quotes.
func (in *inliner) quoted(quote byte) string {
	from := in.i
	for in.i++; in.i < len(in.s) && in.s[in.i] != quote; in.i++ {
		if in.s[in.i] == '\\' {
			in.i++
		}
	}
	in.i = min(in.i+1, len(in.s))
	return in.s[from:in.i]
}

// condition rewrites "X if C else Y"; anything else stays as it is.
func condition(part string) string {
	then, rest, ok := cutWord(part, "if")
	if !ok {
		return part
	}
	test, other, ok := cutWord(rest, "else")
	if !ok {
		other = "''"
	}
	return chooseName + "(" + test + "," + then + "," + condition(other) + ")"
}

// cutWord cuts s around a word that stands outside of texts and brackets.
func cutWord(s, word string) (before, after string, found bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			in := &inliner{s: s, i: i}
			in.quoted(c)
			i = in.i - 1
		case brackets[c] != "":
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth == 0 && strings.HasPrefix(s[i:], word) && !wordAt(s, i-1) && !wordAt(s, i+len(word)):
			return s[:i], s[i+len(word):], true
		}
	}
	return s, "", false
}

func wordAt(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] == '_' || s[i] == '.' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || s[i] >= '0' && s[i] <= '9')
}
