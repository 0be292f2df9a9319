package grammar

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"pgregory.net/rapid"
)

func schema(t testing.TB, src string) *Grammar {
	t.Helper()
	text, err := Schema([]byte(src))
	if err != nil {
		t.Fatalf("%v in %s", err, src)
	}
	return parse(t, text)
}

func TestSchemas(t *testing.T) {
	for _, c := range []struct {
		schema  string
		yes, no []string
	}{
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"}},"required":["b"],"additionalProperties":false}`,
			[]string{`{"b":"x"}`, `{"a":1,"b":""}`, `{"a":-3, "b":"é\n", "c":true}`, `{"b":"","c":false}`, "\n {\n  \"b\": \"\"}"},
			[]string{`{}`, `{"a":1}`, `{"b":1}`, `{"b":"","a":1}`, `{"b":"","d":1}`, `{"a":1.5,"b":""}`, `{"a":01,"b":""}`}},
		{`{"properties":{"a":{"type":"null"}}}`, []string{`{}`, `{"a":null}`}, []string{`{"a":1}`, `{"a":null,}`, `null`}},
		{`{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":3}`, []string{`[1,2]`, `[1.5, -2e3,0]`}, []string{`[]`, `[1]`, `[1,2,3,4]`, `["1",2]`}},
		{`{"type":"array","maxItems":0}`, []string{`[]`}, []string{`[1]`}},
		{`{"type":"array"}`, []string{`[]`, `[1,"a",{"b":[]}]`}, []string{`[1,]`, `{}`}},
		{`{"enum":["red","green",3,null,{"a":[1]}]}`, []string{`"red"`, `3`, `null`, `{"a":[1]}`}, []string{`"blue"`, `4`, `"redgreen"`}},
		{`{"const":"a\"b\\c\n"}`, []string{`"a\"b\\c\n"`}, []string{`"ab"`}},
		{`{"anyOf":[{"type":"string","minLength":2,"maxLength":3},{"type":"integer"}]}`, []string{`"ab"`, `"é漢😀"`, `7`}, []string{`"a"`, `"abcd"`, `true`}},
		{`{"type":["string","null"]}`, []string{`"x"`, `null`}, []string{`1`}},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`{}`, `{"x":1,"y":2}`}, []string{`{"x":"1"}`}},
		{`{"type":"object","additionalProperties":false}`, []string{`{}`}, []string{`{"x":1}`}},
		{`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}}}`,
			[]string{`{"v":1,"next":null}`, `{"v":1,"next":{"v":2,"next":null}}`}, []string{`{"v":1}`, `{"v":1,"next":{}}`}},
		{`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}}}`, []string{`{"kids":[{},{"kids":[]}]}`}, []string{`{"kids":[1]}`}},
		{`{}`, []string{`1`, `"x"`, `{"a":[true]}`}, []string{`x`, ``}},
		{`true`, []string{`1`}, []string{`x`}},
		{`{"title":"T","description":"d","type":"string","default":"x"}`, []string{`"\u00e9\/"`}, []string{`"\q"`, "\"\n\"", `"\ud800"`}},
	} {
		g := schema(t, c.schema)
		for _, text := range c.yes {
			if whole, _ := matches(g, text); !whole {
				t.Errorf("%s does not take %s", c.schema, text)
			}
		}
		for _, text := range c.no {
			if whole, _ := matches(g, text); whole {
				t.Errorf("%s takes %s", c.schema, text)
			}
		}
	}
}

// What is not supported is refused, with its place in the schema.
func TestRefusedSchemas(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, maxSchemaDepth+2) + `{}` + strings.Repeat(`}`, maxSchemaDepth+2)
	var wide strings.Builder
	for i := range maxSchemaRules {
		wide.WriteString(`,"p` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + `":{"type":"integer"}`)
	}
	for src, path := range map[string]string{
		`7`: "", `[]`: "", `{"type":"object"`: "", `false`: "",
		`{"type":"string","pattern":"a+"}`:                             "/pattern",
		`{"type":"string","format":"date"}`:                            "/format",
		`{"type":"integer","minimum":3}`:                               "/minimum",
		`{"type":"object","properties":{"a":{"not":{}}}}`:              "/properties/a/not",
		`{"type":"object","properties":{"a":{"oneOf":[]}}}`:            "/properties/a/oneOf",
		`{"allOf":[{}]}`:                                               "/allOf",
		`{"type":"array","items":{"type":"array","uniqueItems":true}}`: "/items/uniqueItems",
		`{"type":"array","items":[{}]}`:                                "/items",
		`{"type":"tuple"}`:                                             "/type",
		`{"type":7}`:                                                   "/type",
		`{"type":"object","properties":{},"required":["a"]}`:           "/required/0",
		`{"type":"object","properties":{"a":{}},"required":["b"]}`:     "/required/0",
		`{"type":"object","properties":{"a":{},"a":{}}}`:               "/properties",
		`{"enum":[]}`: "/enum",
		`{"anyOf":7}`: "/anyOf",
		`{"anyOf":[{"type":"string","format":"x"}]}`:                      "/anyOf/0/format",
		`{"$ref":"#/$defs/x"}`:                                            "/$ref",
		`{"$ref":"http://example.com/s"}`:                                 "/$ref",
		`{"type":"string","minLength":-1}`:                                "/minLength",
		`{"type":"string","minLength":2,"maxLength":1}`:                   "/maxLength",
		`{"type":"array","maxItems":1000000}`:                             "/maxItems",
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string","format":1}}}`: "/$defs/a/format",
	} {
		_, err := Schema([]byte(src))
		var e *SchemaError
		if !errors.As(err, &e) || e.Path != path {
			t.Errorf("%s: %v, want %q", src, err, path)
		}
	}
	for _, src := range []string{deep, `{"type":"object","properties":{"p0":{}` + wide.String() + `}}`} {
		if _, err := Schema([]byte(src)); err == nil {
			t.Errorf("%.50s is taken", src)
		}
	}
	// A reference to itself is a grammar that begins with itself.
	text, err := Schema([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`))
	if err == nil {
		_, err = Parse(text)
	}
	if err == nil {
		t.Error("an endless reference is taken")
	}
}

// Whatever is written under a schema's grammar is valid under the schema, by another's judgement.
func TestWhatIsWrittenIsValid(t *testing.T) {
	for _, src := range []string{
		`{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":5},"age":{"type":"integer"},"tags":{"type":"array","items":{"enum":["a","b"]},"maxItems":3},"x":{"anyOf":[{"type":"null"},{"type":"number"}]}},"required":["age","x"],"additionalProperties":false}`,
		`{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","properties":{"b":{"type":"boolean"},"n":{"type":["null","string"]}},"required":["n"]}}`,
		`{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}`,
	} {
		g := schema(t, src)
		var judge openapi3.Schema
		if err := json.Unmarshal([]byte(src), &judge); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			text := write(t, g)
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if err := judge.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
		})
	}
}

// write draws tokens for a while, and then prefers those that bring the text to its end.
func write(t *rapid.T, g *Grammar) (text []byte) {
	m := g.Matcher(bytewise)
	random := rapid.IntRange(0, 80).Draw(t, "random")
	for len(text) < 5000 {
		logits := make([]float32, sim.VocabSize)
		m.Mask(logits)
		var free []byte
		for i, l := range logits[:256] {
			if l == 0 {
				free = append(free, byte(i))
			}
		}
		if len(free) == 0 || len(text) >= random && logits[sim.TokenEnd] == 0 {
			return text
		}
		next := free[len(free)/2]
		if len(text) < random {
			next = rapid.SampledFrom(free).Draw(t, "byte")
		} else if i := slices.IndexFunc([]byte(`"}],`), func(b byte) bool { return slices.Contains(free, b) }); i >= 0 {
			next = `"}],`[i]
		}
		m.Accept(gpu.Token(next))
		text = append(text, next)
	}
	t.Fatalf("the text does not end: %.200s", text)
	return nil
}

func FuzzSchema(f *testing.F) {
	for _, s := range []string{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"enum":[1,"x"]}`, `{"$ref":"#"}`, `{"anyOf":[{},true]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		text, err := Schema(src)
		var e *SchemaError
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%T", err)
			}
			return
		}
		if _, err := Parse(text); err != nil && strings.Contains(err.Error(), "must stand") {
			t.Fatalf("%v in\n%s", err, text)
		}
	})
}
