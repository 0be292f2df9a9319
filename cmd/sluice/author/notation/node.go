package notation

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/cmd/sluice/spelling"
)

// Kind is what a Node is.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Scalar
	List
	Map
)

// String says it in words.
func (k Kind) String() string {
	return [...]string{"nothing", "a value", "a list", "keys and values"}[k]
}

// Node is one value of a document, with the place where it stands.
type Node struct {
	File    string
	Line    int // from 1
	Kind    Kind
	Text    string   // of a Scalar, without quotes
	Items   []*Node  // of a List
	Members []Member // of a Map, in the order of the document; no key is there twice
}

// Member is a key and its value.
type Member struct {
	Key   string
	Line  int
	Value *Node
}

// Error is what is wrong in a document, and where.
type Error struct {
	File string
	Line int
	What string
}

// Error is FILE:LINE: what is wrong.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// Errorf makes an *Error at the node.
func (n *Node) Errorf(format string, args ...any) error {
	return &Error{n.File, n.Line, fmt.Sprintf(format, args...)}
}

// Errorf makes an *Error at the member's key.
func (m *Member) Errorf(format string, args ...any) error {
	return &Error{m.Value.File, m.Line, fmt.Sprintf(format, args...)}
}

// Get is the value of a key; nil when there is none.
func (n *Node) Get(key string) *Node {
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Want checks the kind of what is called name in the error.
func (n *Node) Want(k Kind, name string) error {
	if n.Kind == k {
		return nil
	}
	if n.Kind == Scalar {
		return n.Errorf("%s must be %v, and not %q", name, k, n.Text)
	}
	return n.Errorf("%s must be %v, and not %v", name, k, n.Kind)
}

// Only checks that every key of a Map is one of known. what says in the error what they are keys of.
func (n *Node) Only(what string, known ...string) error {
	for i := range n.Members {
		if m := &n.Members[i]; !slices.Contains(known, m.Key) {
			return m.Errorf("unknown key %q in %s%s", m.Key, what, didYouMean(m.Key, known))
		}
	}
	return nil
}

// didYouMean names the known word that is nearest to what was written; "" when none is near.
func didYouMean(word string, known []string) string {
	i := spelling.Nearest(word, known)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", known[i])
}
