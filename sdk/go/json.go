package sluice

import (
	"errors"
	"unicode/utf8"
)

// maxKeys bounds a configuration.
const maxKeys = 256

// parser reads the one form of JSON that the host writes: a flat object whose values are strings.
type parser struct {
	in  []byte
	pos int
}

func parseFlat(in []byte) ([]entry, error) {
	p := &parser{in: in}
	entries, why := p.object()
	if why == "" && p.skip() < len(in) {
		why = "something follows the object"
	}
	if why != "" {
		return nil, errors.New("the configuration is not a JSON object of strings: " + why + " at byte " + formatInt(int64(p.pos)))
	}
	return entries, nil
}

func (p *parser) object() (entries []entry, why string) {
	if !p.take('{') {
		return nil, "no { found"
	}
	if p.take('}') {
		return nil, ""
	}
	for {
		key, why := p.string()
		if why != "" {
			return nil, why
		}
		if !p.take(':') {
			return nil, "no : found"
		}
		value, why := p.string()
		if why != "" {
			return nil, why
		}
		for i := range entries {
			if entries[i].key == key {
				return nil, "a key stands there twice"
			}
		}
		if len(entries) == maxKeys {
			return nil, "too many keys"
		}
		entries = append(entries, entry{key: key, value: value})
		if p.take('}') {
			return entries, ""
		}
		if !p.take(',') {
			return nil, "no , or } found"
		}
	}
}

// skip passes white space and returns the position.
func (p *parser) skip() int {
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return p.pos
		}
	}
	return p.pos
}

func (p *parser) take(c byte) bool {
	if p.skip() < len(p.in) && p.in[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) string() (s, why string) {
	if !p.take('"') {
		return "", "no string found"
	}
	var out []byte
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		switch {
		case c == '"':
			p.pos++
			if !utf8.Valid(out) {
				return "", "a string that is not UTF-8 ends"
			}
			return string(out), ""
		case c < ' ':
			return "", "a control character stands"
		case c == '\\':
			p.pos++
			r, ok := p.escape()
			if !ok {
				return "", "a wrong escape ends"
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
			p.pos++
		}
	}
	return "", "a string does not end"
}

// escape reads what follows a backslash.
func (p *parser) escape() (r rune, ok bool) {
	if p.pos == len(p.in) {
		return 0, false
	}
	c := p.in[p.pos]
	p.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return p.unicode()
	}
	return 0, false
}

// unicode reads four hexadecimal digits, and a second escape when they are the first half of a surrogate pair.
func (p *parser) unicode() (r rune, ok bool) {
	r, ok = p.hex4()
	if !ok || r < 0xd800 || r > 0xdfff {
		return r, ok
	}
	if r > 0xdbff || p.pos+2 > len(p.in) || p.in[p.pos] != '\\' || p.in[p.pos+1] != 'u' {
		return 0, false
	}
	p.pos += 2
	low, ok := p.hex4()
	if !ok || low < 0xdc00 || low > 0xdfff {
		return 0, false
	}
	return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), true
}

func (p *parser) hex4() (r rune, ok bool) {
	if p.pos+4 > len(p.in) {
		return 0, false
	}
	for _, c := range p.in[p.pos : p.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	p.pos += 4
	return r, true
}
