package grammar

import "fmt"

// The bounds of a grammar.
const (
	MaxSource  = 64 << 10 // bytes of text
	MaxNesting = 64       // groups in one another
	MaxRepeat  = 4096     // count in {n,m}
	maxRules   = 4096
	maxNodes   = 1 << 16 // of the compiled form, in which repetitions are written out
)

// Error says what is wrong with a grammar, and where.
type Error struct {
	Line    int // from 1; 0 = the grammar as a whole
	Message string
}

// Error is the line, if there is one, and the message.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return e.Message
}

// expr is a part of a rule's right side.
type expr interface{}

type (
	literal string      // bytes, one after the other
	class   []runeRange // one character of these, sorted and apart
	ref     string      // a rule's name
	seq     []expr      // one after the other
	alt     []expr      // one of them
	repeat  struct {    // what from min to max times; max -1 = without end
		what     expr
		min, max int
	}
)

type runeRange struct{ lo, hi rune }

// rule is one line of a grammar.
type rule struct {
	name string
	line int
	body expr
}
