package engine

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// textStream turns the bytes of tokens into text that may be shown: whole UTF-8 characters, nothing of a stop string, and
// nothing that may yet become one.
type textStream struct {
	stops   []string
	held    []byte
	stopped bool
	pushed  int // bytes that have come
	end     int // where the text ends in them, once stopped
}

// push adds bytes and returns what may be shown now. stopped says that a stop string is complete: the text before it has
// been returned and nothing follows.
func (t *textStream) push(piece []byte) (text string, stopped bool) {
	if t.stopped {
		return "", true
	}
	t.held = append(t.held, piece...)
	t.pushed += len(piece)
	if cut := t.firstStop(); cut >= 0 {
		text = valid(t.held[:cut])
		t.end = t.pushed - len(t.held) + cut
		t.held, t.stopped = t.held[:0], true
		return text, true
	}
	n := len(t.held) - t.holdBack()
	text = valid(t.held[:n])
	t.held = append(t.held[:0], t.held[n:]...)
	return text, false
}

// flush returns what was held back, at the end of the text.
func (t *textStream) flush() string {
	text := valid(t.held)
	t.held = t.held[:0]
	return text
}

// firstStop is the position of the earliest complete stop string, or -1.
func (t *textStream) firstStop() int {
	cut := -1
	for _, s := range t.stops {
		if i := bytes.Index(t.held, []byte(s)); i >= 0 && (cut < 0 || i < cut) {
			cut = i
		}
	}
	return cut
}

// holdBack is the number of bytes at the end that must wait: the start of a stop string, or of a character.
func (t *textStream) holdBack() int {
	n := incompleteRune(t.held)
	for _, s := range t.stops {
		for k := min(len(s)-1, len(t.held)); k > n; k-- {
			if bytes.HasSuffix(t.held, []byte(s[:k])) {
				n = k
				break
			}
		}
	}
	return n
}

// incompleteRune is the length of the character that b ends inside of; 0 when b ends after one, or after no valid start.
func incompleteRune(b []byte) int {
	for k := 1; k <= min(utf8.UTFMax-1, len(b)); k++ {
		c := b[len(b)-k]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-k:]) {
				return k
			}
			return 0
		}
	}
	return 0
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
