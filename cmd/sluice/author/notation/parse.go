package notation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxBytes is the largest document that is read.
const MaxBytes = 1 << 20

// maxDepth bounds how deep values may lie in each other: parsers recurse.
const maxDepth = 32

// Parse reads a document: JSON when it begins with a brace or a bracket and is JSON, else YAML. file is for errors, which are
// *Error. An empty document is a Null.
func Parse(file string, text []byte) (*Node, error) {
	if len(text) > MaxBytes {
		return nil, &Error{file, 1, fmt.Sprintf("%d bytes; at most %d are read", len(text), MaxBytes)}
	}
	if line := tooDeep(text); line > 0 {
		return nil, &Error{file, line, fmt.Sprintf("values lie more than %d deep in each other", maxDepth)}
	}
	if first := bytes.TrimLeft(text, " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') && json.Valid(text) {
		return parseJSON(file, text)
	}
	return parseYAML(file, text)
}

// tooDeep finds a line whose nesting no document of ours has, before a parser recurses into it; 0 for none. It counts
// without regard to quotes, which at worst refuses a strange text.
func tooDeep(text []byte) (line int) {
	line = 1
	flow, dashes := 0, 0
	for i, c := range text {
		switch c {
		case '\n':
			line++
			dashes = 0
		case '[', '{':
			flow++
		case ']', '}':
			flow = max(flow-1, 0)
		case '-', '?', ':':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n') {
				dashes++
			}
		}
		if flow > maxDepth || dashes > 2*maxDepth && flow == 0 {
			return line
		}
	}
	return 0
}

func parseYAML(file string, text []byte) (n *Node, err error) {
	// The library dereferences nil on some malformed documents.
	defer func() {
		if p := recover(); p != nil {
			n, err = nil, &Error{file, 1, "not a YAML document that can be read"}
		}
	}()
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlError(file, err)
	}
	switch {
	case len(f.Docs) > 1:
		return nil, &Error{file, lineOf(f.Docs[1].Body), "a second document begins here; keep one"}
	case len(f.Docs) == 0 || f.Docs[0].Body == nil || f.Docs[0].Body.Type() == ast.CommentType:
		return &Node{File: file, Line: 1}, nil
	}
	return fromYAML(file, f.Docs[0].Body, 0)
}

// yamlError keeps the place and the first line of what the library says.
func yamlError(file string, err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	line := 1
	if _, scan := fmt.Sscanf(text, "[%d:", &line); scan == nil {
		if _, rest, ok := strings.Cut(text, "] "); ok {
			text = rest
		}
	}
	return &Error{file, max(line, 1), text}
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

func fromYAML(file string, n ast.Node, depth int) (*Node, error) {
	out := &Node{File: file, Line: lineOf(n)}
	if depth > maxDepth {
		return nil, out.Errorf("values lie more than %d deep in each other", maxDepth)
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		return out, out.members(n.Values, depth)
	case *ast.MappingValueNode:
		return out, out.members([]*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out.Kind = List
		for _, v := range n.Values {
			item, err := fromYAML(file, v, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, item)
		}
	case *ast.LiteralNode:
		out.Kind, out.Text = Scalar, n.Value.Value
	case *ast.StringNode:
		out.Kind, out.Text = Scalar, n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = Scalar, n.GetToken().Value
	default:
		return nil, out.Errorf("%s is not used here: write the value itself", strings.ToLower(n.Type().String()))
	}
	return out, nil
}

func (n *Node) members(values []*ast.MappingValueNode, depth int) error {
	n.Kind = Map
	for _, v := range values {
		key, err := fromYAML(n.File, v.Key, depth+1)
		if err != nil {
			return err
		}
		if key.Kind != Scalar {
			return key.Errorf("a key must be a name")
		}
		value, err := fromYAML(n.File, v.Value, depth+1)
		if err != nil {
			return err
		}
		if value.Kind == Null {
			value.Line = key.Line
		}
		if err := n.add(Member{key.Text, key.Line, value}); err != nil {
			return err
		}
	}
	if len(n.Members) > 0 {
		n.Line = n.Members[0].Line
	}
	return nil
}

func (n *Node) add(m Member) error {
	if n.Get(m.Key) != nil {
		return m.Errorf("%q is there twice", m.Key)
	}
	n.Members = append(n.Members, m)
	return nil
}
