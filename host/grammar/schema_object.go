package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// object is a JSON object whose keys are in their order.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

func (o *object) has(key string) bool {
	_, ok := o.values[key]
	return ok
}

var errNoObject = errors.New("not an object")

// readObject refuses a key that is there twice: which one counts would be a guess.
func readObject(raw []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errNoObject
	}
	o := &object{values: map[string]json.RawMessage{}}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read object: %w", err)
		}
		key, ok := tok.(string)
		var v json.RawMessage
		if err := dec.Decode(&v); !ok || err != nil || o.has(key) {
			return nil, errNoObject
		}
		o.keys, o.values[key] = append(o.keys, key), v
	}
	return o, nil
}

// object writes the properties in their order. Two chains of rules leave the optional ones out: one from before the first
// property that is written, one from after it, where a comma stands before each.
func (s *schemaWriter) object(o *object, path string, depth int) string {
	props, err := readObject(o.values["properties"])
	if o.has("properties") && err != nil {
		return s.fail(path+"/properties", "must be an object, with no name twice")
	}
	if err != nil || len(props.keys) == 0 {
		return s.freeObject(o, path, depth)
	}
	required := s.required(o, props, path)
	if raw := string(bytes.TrimSpace(o.values["additionalProperties"])); raw != "" && raw != "false" && raw != "true" {
		s.value(o.values["additionalProperties"], path+"/additionalProperties", depth+1) // none are written, but it must make sense
	}
	first, later := "", "" // what may stand from the i-th property on
	for i, key := range slices.Backward(props.keys) {
		name, _ := json.Marshal(key)
		pair := quote(string(name)) + ` ws ":" ws ` + s.value(props.values[key], path+"/properties/"+key, depth+1)
		pair = s.rule(path, pair)
		if s.err != nil {
			return ""
		}
		begin, next := pair+" "+later, `"," ws `+pair+" "+later
		if !required[key] {
			begin, next = orElse(begin, first), orElse(next, later)
		}
		if i > 0 {
			later = s.rule(path, next)
		}
		first = s.rule(path, begin)
	}
	return s.rule(path, `"{" ws `+first+` "}" ws`)
}

func orElse(a, b string) string {
	if b == "" {
		b = `""`
	}
	return a + " | " + b
}

func (s *schemaWriter) required(o, props *object, path string) map[string]bool {
	var names []string
	if raw, ok := o.values["required"]; ok && json.Unmarshal(raw, &names) != nil {
		s.fail(path+"/required", "must be a list of names")
	}
	set := map[string]bool{}
	for i, name := range names {
		if props == nil || !props.has(name) {
			s.fail(path+"/required/"+strconv.Itoa(i), "%.64q is not among the properties", name)
		}
		set[name] = true
	}
	return set
}

// freeObject has any keys, with values of one schema.
func (s *schemaWriter) freeObject(o *object, path string, depth int) string {
	s.required(o, nil, path)
	value := "value"
	switch raw := o.values["additionalProperties"]; string(bytes.TrimSpace(raw)) {
	case "", "true":
	case "false":
		return s.rule(path, `"{" ws "}" ws`)
	default:
		value = s.value(raw, path+"/additionalProperties", depth+1)
	}
	if value == "value" {
		return "object"
	}
	return s.rule(path, fmt.Sprintf(`"{" ws (string ":" ws %s ("," ws string ":" ws %s)*)? "}" ws`, value, value))
}
