package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a schema.
const (
	maxSchemaDepth = 32
	maxSchemaRules = 1024
)

// SchemaError says what of a schema is not supported, and where: Path is a JSON pointer into the schema, "" for all of it.
type SchemaError struct {
	Path    string
	Message string
}

// Error is the path and the message.
func (e *SchemaError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// Schema turns a JSON schema into a grammar in GBNF whose texts are valid under it. It knows
//
//   - type, one or several of object, array, string, number, integer, boolean, null;
//   - properties, required, additionalProperties; items, minItems, maxItems; minLength, maxLength;
//   - enum, const, anyOf, and $ref to "#", "#/$defs/NAME" or "#/definitions/NAME", recursive ones too.
//
// Properties are written in the order of the schema, and beside those that it names none are. Titles, descriptions and such
// are skipped. Any other keyword is a *SchemaError: leaving it out would be a promise broken.
func Schema(schema []byte) (string, error) {
	s := &schemaWriter{refs: map[string]string{}, top: schema}
	if !json.Valid(schema) {
		return "", &SchemaError{Message: "the schema is not JSON"}
	}
	root := s.value(schema, "", 0)
	if s.err != nil {
		return "", s.err
	}
	return "root ::= ws " + root + "\n" + s.rules.String() + jsonRules, nil
}

// schemaWriter writes a rule for each object, list and reference.
type schemaWriter struct {
	rules strings.Builder
	n     int
	top   []byte
	refs  map[string]string // rule by reference
	err   *SchemaError
}

// annotations say nothing about what is valid.
var annotations = []string{
	"title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly", "$defs", "definitions",
}

func (s *schemaWriter) fail(path, format string, args ...any) string {
	if s.err == nil {
		s.err = &SchemaError{path, fmt.Sprintf(format, args...)}
	}
	return "null"
}

// rule adds a rule and returns its name.
func (s *schemaWriter) rule(path, body string) string {
	if s.n++; s.n > maxSchemaRules {
		return s.fail(path, "the schema has more than %d parts", maxSchemaRules)
	}
	name := "s" + strconv.Itoa(s.n)
	fmt.Fprintf(&s.rules, "%s ::= %s\n", name, body)
	return name
}

// value returns what stands for one schema in a rule: a name, or a group.
func (s *schemaWriter) value(raw []byte, path string, depth int) string {
	if s.err != nil {
		return "null"
	}
	if depth > maxSchemaDepth {
		return s.fail(path, "the schema is nested deeper than %d", maxSchemaDepth)
	}
	o, err := readObject(raw)
	if err != nil {
		if string(bytes.TrimSpace(raw)) == "true" {
			return "value"
		}
		return s.fail(path, "must be a schema, which is an object")
	}
	for _, kind := range []struct {
		key   string
		write func(o *object, path string, depth int) string
	}{{"$ref", s.reference}, {"const", s.constant}, {"enum", s.enumeration}, {"anyOf", s.anyOf}} {
		if o.has(kind.key) {
			return kind.write(o, path, depth)
		}
	}
	return s.typed(o, path, depth)
}

// only fails on a keyword that is not among those that are known here.
func (s *schemaWriter) only(o *object, path string, known ...string) bool {
	for _, key := range o.keys {
		if !slices.Contains(known, key) && !slices.Contains(annotations, key) {
			s.fail(path+"/"+key, "%s is not supported here", key)
			return false
		}
	}
	return true
}

func (s *schemaWriter) reference(o *object, path string, depth int) string {
	var to string
	if json.Unmarshal(o.values["$ref"], &to) != nil || !s.only(o, path, "$ref") {
		return s.fail(path+"/$ref", "must be a text")
	}
	if name, ok := s.refs[to]; ok {
		return name
	}
	raw, ok := s.find(to)
	if !ok {
		return s.fail(path+"/$ref", "%.64q is not there; a reference is #, #/$defs/NAME or #/definitions/NAME", to)
	}
	name := "r" + strconv.Itoa(len(s.refs)+1)
	s.refs[to] = name
	body := s.value(raw, strings.TrimPrefix(to, "#"), depth+1)
	fmt.Fprintf(&s.rules, "%s ::= %s\n", name, body)
	return name
}

// find returns what a reference names.
func (s *schemaWriter) find(ref string) ([]byte, bool) {
	if ref == "#" {
		return s.top, true
	}
	for _, where := range []string{"$defs", "definitions"} {
		name, ok := strings.CutPrefix(ref, "#/"+where+"/")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if top, err := readObject(s.top); err == nil && top.has(where) {
			if defs, err := readObject(top.values[where]); err == nil && defs.has(name) {
				return defs.values[name], true
			}
		}
	}
	return nil, false
}

func (s *schemaWriter) constant(o *object, path string, _ int) string {
	if !s.only(o, path, "const", "type") {
		return ""
	}
	return "(" + s.fixed(o.values["const"], path+"/const") + ") ws"
}

// fixed is one JSON value as a text in quotes.
func (s *schemaWriter) fixed(raw []byte, path string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return s.fail(path, "is not JSON")
	}
	return quote(b.String())
}

func (s *schemaWriter) enumeration(o *object, path string, _ int) string {
	var values []json.RawMessage
	if !s.only(o, path, "enum", "type") {
		return ""
	}
	if json.Unmarshal(o.values["enum"], &values) != nil || len(values) == 0 {
		return s.fail(path+"/enum", "must be a list of at least one value")
	}
	alternatives := make([]string, len(values))
	for i, v := range values {
		alternatives[i] = s.fixed(v, path+"/enum/"+strconv.Itoa(i))
	}
	return "(" + strings.Join(alternatives, " | ") + ") ws"
}

func (s *schemaWriter) anyOf(o *object, path string, depth int) string {
	var schemas []json.RawMessage
	if !s.only(o, path, "anyOf") {
		return ""
	}
	if json.Unmarshal(o.values["anyOf"], &schemas) != nil || len(schemas) == 0 {
		return s.fail(path+"/anyOf", "must be a list of at least one schema")
	}
	alternatives := make([]string, len(schemas))
	for i, v := range schemas {
		alternatives[i] = s.value(v, path+"/anyOf/"+strconv.Itoa(i), depth+1)
	}
	return s.rule(path, strings.Join(alternatives, " | "))
}

// typed is a schema by its type, or by the types that it lists.
func (s *schemaWriter) typed(o *object, path string, depth int) string {
	var types []string
	if raw, ok := o.values["type"]; ok {
		var one string
		if json.Unmarshal(raw, &one) == nil {
			types = []string{one}
		} else if json.Unmarshal(raw, &types) != nil || len(types) == 0 {
			return s.fail(path+"/type", "must be the name of a type, or a list of them")
		}
	} else if len(o.keys) > 0 && (o.has("properties") || o.has("required") || o.has("additionalProperties")) {
		types = []string{"object"}
	} else if o.has("items") {
		types = []string{"array"}
	} else {
		s.only(o, path)
		return "value"
	}
	if !s.only(o, path, keywords(types)...) {
		return ""
	}
	alternatives := make([]string, len(types))
	for i, t := range types {
		alternatives[i] = s.oneType(t, o, path, depth)
	}
	if len(types) == 1 {
		return alternatives[0]
	}
	return s.rule(path, strings.Join(alternatives, " | "))
}

// keywords are those that have a meaning for any of the types.
func keywords(types []string) []string {
	known := []string{"type"}
	for _, t := range types {
		switch t {
		case "object":
			known = append(known, "properties", "required", "additionalProperties")
		case "array":
			known = append(known, "items", "minItems", "maxItems")
		case "string":
			known = append(known, "minLength", "maxLength")
		}
	}
	return known
}

func (s *schemaWriter) oneType(t string, o *object, path string, depth int) string {
	switch t {
	case "object":
		return s.object(o, path, depth)
	case "array":
		return s.array(o, path, depth)
	case "string":
		return s.text(o, path)
	case "integer", "number", "boolean", "null":
		return t
	}
	return s.fail(path+"/type", "%.32q is no type", t)
}

func (s *schemaWriter) text(o *object, path string) string {
	if !o.has("minLength") && !o.has("maxLength") {
		return "string"
	}
	return s.rule(path, `"\"" char`+s.counts(o, path, "minLength", "maxLength")+` "\"" ws`)
}

func (s *schemaWriter) array(o *object, path string, depth int) string {
	item := "value"
	if o.has("items") {
		item = s.value(o.values["items"], path+"/items", depth+1)
	}
	lo, hi := s.bounds(o, path, "minItems", "maxItems")
	switch {
	case hi == 0:
		return s.rule(path, `"[" ws "]" ws`)
	case lo == 0:
		return s.rule(path, fmt.Sprintf(`"[" ws (%s ("," ws %s)%s)? "]" ws`, item, item, repetition(0, hi-1)))
	}
	return s.rule(path, fmt.Sprintf(`"[" ws %s ("," ws %s)%s "]" ws`, item, item, repetition(lo-1, hi-1)))
}

func (s *schemaWriter) counts(o *object, path, lo, hi string) string {
	return repetition(s.bounds(o, path, lo, hi))
}

// repetition is {lo,hi}; hi below 0 is without end.
func repetition(lo, hi int) string {
	if hi < 0 {
		return fmt.Sprintf("{%d,}", lo)
	}
	return fmt.Sprintf("{%d,%d}", lo, hi)
}

// bounds reads two counts; without the upper one it is below -1.
func (s *schemaWriter) bounds(o *object, path, loKey, hiKey string) (lo, hi int) {
	hi = -2
	for _, b := range []struct {
		key string
		at  *int
	}{{loKey, &lo}, {hiKey, &hi}} {
		raw, ok := o.values[b.key]
		if !ok {
			continue
		}
		if json.Unmarshal(raw, b.at) != nil || *b.at < 0 || *b.at > MaxRepeat {
			s.fail(path+"/"+b.key, "must be a whole number from 0 to %d", MaxRepeat)
		}
	}
	if hi >= 0 && hi < lo {
		s.fail(path+"/"+hiKey, "is less than %s", loKey)
	}
	return lo, hi
}

// quote is a text in GBNF.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
