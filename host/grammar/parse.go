package grammar

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// parser reads GBNF. The first error ends it.
type parser struct {
	src  string
	pos  int
	line int
	err  *Error
}

// parseRules reads all rules of src in their order.
func parseRules(src string) ([]rule, *Error) {
	switch {
	case len(src) > MaxSource:
		return nil, &Error{Message: fmt.Sprintf("the grammar has %d bytes, at most %d", len(src), MaxSource)}
	case !utf8.ValidString(src):
		return nil, &Error{Message: "the grammar is not UTF-8"}
	}
	p := &parser{src: src, line: 1}
	var rules []rule
	for p.space(true); p.err == nil && p.pos < len(src); p.space(true) {
		rules = append(rules, p.rule())
		if len(rules) > maxRules {
			p.fail("there are more than %d rules", maxRules)
		}
	}
	return rules, p.err
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &Error{p.line, fmt.Sprintf(format, args...)}
	}
	p.pos = len(p.src)
}

func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// skip passes one byte, unless there was an error, which is the end of the source.
func (p *parser) skip() {
	if p.err == nil {
		p.pos++
	}
}

// take consumes text if it comes next.
func (p *parser) take(text string) bool {
	if !strings.HasPrefix(p.src[p.pos:], text) {
		return false
	}
	p.pos += len(text)
	return true
}

// space skips blanks and comments, and line breaks where they mean nothing.
func (p *parser) space(breaks bool) {
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == ' ' || c == '\t':
		case c == '#':
			if i := strings.IndexByte(p.src[p.pos:], '\n'); i >= 0 {
				p.pos += i
			} else {
				p.pos = len(p.src)
			}
			continue
		case breaks && (c == '\n' || c == '\r'):
			if c == '\n' {
				p.line++
			}
		default:
			return
		}
		p.pos++
	}
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (p *parser) name() string {
	from := p.pos
	for nameByte(p.peek()) {
		p.pos++
	}
	return p.src[from:p.pos]
}

func (p *parser) rule() rule {
	r := rule{line: p.line, name: p.name()}
	if r.name == "" {
		p.fail("a rule's name must stand here, but there is %s", p.here())
		return r
	}
	p.space(false)
	if !p.take("::=") {
		p.fail("::= must follow the name %s, but there is %s", r.name, p.here())
		return r
	}
	p.space(true)
	r.body = p.alternatives(0)
	if c := p.peek(); p.err == nil && p.pos < len(p.src) && c != '\n' && c != '\r' {
		p.fail("rule %s must end here, but there is %s", r.name, p.here())
	}
	return r
}

// here is what stands at the position, for messages.
func (p *parser) here() string {
	if p.pos >= len(p.src) {
		return "nothing more"
	}
	r, _ := utf8.DecodeRuneInString(p.src[p.pos:])
	return fmt.Sprintf("%q", r)
}

func (p *parser) alternatives(depth int) expr {
	if depth > MaxNesting {
		p.fail("groups are nested deeper than %d", MaxNesting)
		return nil
	}
	all := alt{p.sequence(depth)}
	for p.take("|") {
		p.space(true)
		all = append(all, p.sequence(depth))
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

func (p *parser) sequence(depth int) expr {
	var all seq
	for p.err == nil {
		item := p.item(depth)
		if item == nil {
			break
		}
		p.space(depth > 0)
		all = append(all, p.repeated(item, depth))
	}
	return all
}

// item is nil at the end of a sequence.
func (p *parser) item(depth int) expr {
	switch c := p.peek(); {
	case c == '"':
		return p.literal()
	case c == '[':
		return p.class()
	case c == '.':
		p.pos++
		return class{{0, utf8.MaxRune}}
	case c == '(':
		p.pos++
		p.space(true)
		group := p.alternatives(depth + 1)
		if p.err == nil && !p.take(")") {
			p.fail("a group is not closed: ) must stand here, but there is %s", p.here())
		}
		return group
	case nameByte(c):
		return ref(p.name())
	case c == '<' || c == '!':
		p.fail("tokens cannot be named; write their text")
	}
	return nil
}

// repeated takes the signs behind an item.
func (p *parser) repeated(what expr, depth int) expr {
	for signs := 0; p.err == nil; signs++ {
		r := repeat{what, 0, -1}
		switch p.peek() {
		case '*':
		case '+':
			r.min = 1
		case '?':
			r.max = 1
		case '{':
			r.min, r.max = p.counts()
		default:
			return what
		}
		if signs == 4 {
			p.fail("too many signs of repetition behind one item")
			return nil
		}
		p.skip()
		p.space(depth > 0)
		what = r
	}
	return what
}

// counts reads {n}, {n,} or {n,m}, up to the closing brace.
func (p *parser) counts() (lo, hi int) {
	p.pos++
	lo = p.number()
	hi = lo
	if p.take(",") {
		if hi = -1; p.peek() != '}' {
			hi = p.number()
		}
	}
	if p.err == nil && p.peek() != '}' {
		p.fail("} must stand here, but there is %s", p.here())
	}
	if p.err == nil && hi >= 0 && hi < lo {
		p.fail("{%d,%d} repeats less often at most than at least", lo, hi)
	}
	return lo, hi
}

func (p *parser) number() (n int) {
	from := p.pos
	for c := p.peek(); c >= '0' && c <= '9' && n <= MaxRepeat; c = p.peek() {
		n = n*10 + int(c-'0')
		p.pos++
	}
	if p.pos == from {
		p.fail("a number must stand here, but there is %s", p.here())
	} else if n > MaxRepeat {
		p.fail("a repetition counts to %d at most", MaxRepeat)
	}
	return n
}
