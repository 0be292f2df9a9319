package hostcalls

import (
	"unicode/utf8"

	"github.com/sluice-dev/sluice/plugins"
)

// lineBuffer gathers what a guest writes until a line ends. A line keeps its first plugins.MaxLogBytes.
type lineBuffer struct {
	buf       [plugins.MaxLogBytes]byte
	n         int
	truncated bool
}

// write adds bytes and hands every finished line to emit.
func (l *lineBuffer) write(b []byte, emit func(line []byte, truncated bool)) {
	for _, c := range b {
		switch {
		case c == '\n':
			if l.n > 0 {
				emit(l.buf[:l.n], l.truncated)
			}
			l.n, l.truncated = 0, false
		case l.n < len(l.buf):
			l.buf[l.n] = c
			l.n++
		default:
			l.truncated = true
		}
	}
}

// printable copies text into buf with control characters and broken UTF-8 replaced: it will stand in a log.
func printable(text, buf []byte) []byte {
	for len(text) > 0 && len(buf) < plugins.MaxLogBytes {
		r, n := utf8.DecodeRune(text)
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
			buf = append(buf, '?')
		} else {
			buf = append(buf, text[:n]...)
		}
		text = text[n:]
	}
	return buf
}
