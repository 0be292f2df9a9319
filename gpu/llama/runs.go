package llama

import (
	"unicode"
	"unicode/utf8"
)

// maxRun is the longest stretch, in characters, without a change between white space and anything else that is handed
// to the library in one piece. For many byte-pair vocabularies llama.cpp splits text with std::regex, which calls itself
// for every character of a match: some 20,000 letters, dots or blanks in a row overflow its stack and end the process.
const maxRun = 4096

// cutRun gives the number of bytes of text that are safe to tokenize at once: all of it, but for such a stretch. It is
// cut where letters, digits and the rest meet if that happens in its second half, where most vocabularies split anyway.
// What comes out still spells the same text; only a word that is cut may be made of other tokens.
func cutRun(text string) int {
	if len(text) <= maxRun {
		return len(text)
	}
	length, soft := 0, 0 // characters in this stretch; last good place to cut in its second half
	before := classNone
	for i, r := range text {
		class := classOf(r)
		if (class == classSpace) != (before == classSpace) {
			length, soft = 0, 0
		}
		if class != before && length >= maxRun/2 {
			soft = i
		}
		if length == maxRun {
			if soft > 0 {
				return soft
			}
			return i
		}
		length++
		before = class
	}
	return len(text)
}

type charClass int

const (
	classNone charClass = iota
	classSpace
	classLetter
	classDigit
	classOther
)

func classOf(r rune) charClass {
	switch {
	case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
		return classLetter
	case r == ' ' || unicode.IsSpace(r):
		return classSpace
	case unicode.IsDigit(r):
		return classDigit
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return classLetter
	}
	return classOther
}
