package notation

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// parseJSON reads valid JSON with the line of every value.
func parseJSON(file string, text []byte) (*Node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := &jsonReader{file, text, d}
	return r.value()
}

type jsonReader struct {
	file string
	text []byte
	d    *json.Decoder
}

func (r *jsonReader) line() int { return 1 + bytes.Count(r.text[:r.d.InputOffset()], []byte{'\n'}) }

func (r *jsonReader) token() (json.Token, error) {
	t, err := r.d.Token()
	if err != nil {
		return nil, &Error{r.file, r.line(), err.Error()}
	}
	return t, nil
}

func (r *jsonReader) value() (*Node, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &Node{File: r.file, Line: r.line()}
	switch t := t.(type) {
	case nil:
	case json.Delim:
		if t == '{' {
			return n, r.object(n)
		}
		return n, r.array(n)
	default:
		n.Kind, n.Text = Scalar, fmt.Sprint(t)
	}
	return n, nil
}

func (r *jsonReader) array(n *Node) error {
	n.Kind = List
	for r.d.More() {
		item, err := r.value()
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := r.token()
	return err
}

func (r *jsonReader) object(n *Node) error {
	n.Kind = Map
	for r.d.More() {
		key, err := r.token()
		if err != nil {
			return err
		}
		m := Member{Key: fmt.Sprint(key), Line: r.line()}
		if m.Value, err = r.value(); err != nil {
			return err
		}
		if err := n.add(m); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}
