package grammar

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// literal reads a quoted text.
func (p *parser) literal() expr {
	var out []byte
	for p.pos++; p.err == nil && p.peek() != '"'; {
		r, ok := p.char()
		if !ok {
			p.fail("a text in quotes is not closed on its line")
			return nil
		}
		out = utf8.AppendRune(out, r)
	}
	p.skip()
	return literal(out)
}

// class reads [..] or [^..].
func (p *parser) class() expr {
	p.pos++
	not := p.take("^")
	var c class
	for p.err == nil && p.peek() != ']' {
		lo, ok := p.char()
		hi := lo
		if ok && p.peek() == '-' && p.pos+1 < len(p.src) && p.src[p.pos+1] != ']' {
			p.pos++
			hi, ok = p.char()
		}
		switch {
		case !ok:
			p.fail("a class of characters is not closed on its line")
		case hi < lo:
			p.fail("a range of characters runs backwards")
		}
		c = append(c, runeRange{lo, hi})
	}
	p.skip()
	c = c.normal()
	if not {
		c = c.complement()
	}
	if len(c) == 0 && p.err == nil {
		p.fail("a class of characters holds none")
	}
	return c
}

// char reads one character of a text or class, which may be escaped.
func (p *parser) char() (rune, bool) {
	if p.pos >= len(p.src) || p.src[p.pos] == '\n' {
		return 0, false
	}
	if p.src[p.pos] != '\\' {
		r, n := utf8.DecodeRuneInString(p.src[p.pos:])
		p.pos += n
		return r, true
	}
	if p.pos+1 >= len(p.src) {
		return 0, false
	}
	c := p.src[p.pos+1]
	p.pos += 2
	switch c {
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'n':
		return '\n', true
	case '\\', '"', '[', ']', '-', '^':
		return rune(c), true
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	case 'U':
		return p.hex(8)
	}
	p.fail("\\%c is no escape; there are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\xNN \\uNNNN \\UNNNNNNNN", c)
	return 0, true
}

func (p *parser) hex(digits int) (rune, bool) {
	if p.pos+digits > len(p.src) {
		return 0, false
	}
	v, err := strconv.ParseUint(p.src[p.pos:p.pos+digits], 16, 32)
	if err != nil || v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		p.fail("%q is no character in hexadecimal", p.src[p.pos:p.pos+digits])
		return 0, true
	}
	p.pos += digits
	return rune(v), true
}

// normal sorts the ranges and joins those that touch.
func (c class) normal() class {
	slices.SortFunc(c, func(a, b runeRange) int { return int(a.lo - b.lo) })
	var out class
	for _, r := range c {
		if n := len(out); n > 0 && r.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// complement is every character that a normal class does not hold.
func (c class) complement() class {
	var out class
	next := rune(0)
	for _, r := range c {
		if r.lo > next {
			out = append(out, runeRange{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= utf8.MaxRune {
		out = append(out, runeRange{next, utf8.MaxRune})
	}
	return out
}

// byteRange is the bytes that may stand at one place.
type byteRange struct{ lo, hi byte }

// sequences are the UTF-8 encodings of the class: each is the bytes that may follow one another.
func (c class) sequences() (out [][]byteRange) {
	for _, r := range c {
		for _, part := range splitLengths(r) {
			out = appendSequences(out, part.lo, part.hi)
		}
	}
	return out
}

// splitLengths cuts a range where the encoding becomes longer, and takes the surrogates out, which have none.
func splitLengths(r runeRange) (out []runeRange) {
	for _, b := range []runeRange{{0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, utf8.MaxRune}} {
		if lo, hi := max(r.lo, b.lo), min(r.hi, b.hi); lo <= hi {
			out = append(out, runeRange{lo, hi})
		}
	}
	return out
}

// appendSequences cuts lo..hi, which are encoded in equally many bytes, until each place's bytes are free of the others'.
func appendSequences(out [][]byteRange, lo, hi rune) [][]byteRange {
	for bits := 6; bits <= 18; bits += 6 {
		mask := rune(1)<<bits - 1
		if lo&^mask == hi&^mask || utf8.RuneLen(hi)*6-6 < bits {
			continue
		}
		if lo&mask != 0 {
			return appendSequences(appendSequences(out, lo, lo|mask), (lo|mask)+1, hi)
		}
		if hi&mask != mask {
			return appendSequences(appendSequences(out, lo, hi&^mask-1), hi&^mask, hi)
		}
	}
	from, to := utf8.AppendRune(nil, lo), utf8.AppendRune(nil, hi)
	s := make([]byteRange, len(from))
	for i := range s {
		s[i] = byteRange{from[i], to[i]}
	}
	return append(out, s)
}
