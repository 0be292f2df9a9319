package admin

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

type sample struct {
	On   bool           `json:"on"`
	Why  string         `json:"why"`
	More map[string]any `json:"more"`
}

func TestDecodeStrictly(t *testing.T) {
	deep := func(n int) string {
		return `{"more":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "}"
	}
	for text, says := range map[string]string{
		`{"on":true,"why":"x"}`: "", ` { } `: "", `{"more":{"a":[{"b":1},{"b":2}],"b":{"b":3}}}`: "", deep(7): "",
		"":                                       "EOF",
		"{":                                      "EOF",
		"null":                                   "not an object",
		"[]":                                     "not an object",
		"1":                                      "not an object",
		`{} {}`:                                  "behind",
		`{},`:                                    "invalid character",
		`{"on":true,"on":false}`:                 "twice",
		`{"on":true,"ON":false}`:                 "twice",
		`{"more":{"\u006b":1,"\u212a":2}}`:       "twice",
		`{"on":true,"off":true}`:                 "unknown field",
		`{"on":"yes"}`:                           "cannot unmarshal",
		`{"more":{"a":[{"b":1,"c":2,"b":3}]}}`:   "twice",
		deep(8):                                  "deeper than 8",
		deep(50_000):                             "deeper than 8",
		`{"more":` + strings.Repeat("[", 30_000): "deeper than 8",
		"{\"why\":\"\xff\"}":                     "not UTF-8",
		`{"why":"` + "\x00" + `"}`:               "invalid character",
	} {
		var s sample
		err := decodeStrictly([]byte(text), &s)
		if (says == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), says)) {
			t.Errorf("%.60q: %v, want %q", text, err, says)
		}
	}
}

// What is taken means the same to a reader that is not strict.
func FuzzDecodeStrictly(f *testing.F) {
	for _, seed := range []string{`{"on":true,"why":"x","more":{"a":[1,{"b":null}]}}`, `{"on":true,"on":false}`, `{"a":{"a":{}}}`, "[[[["} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, lax sample
		if decodeStrictly(data, &strict) != nil {
			return
		}
		if err := json.Unmarshal(data, &lax); err != nil || !reflect.DeepEqual(strict, lax) {
			t.Errorf("%q: %+v, and %+v %v", data, strict, lax, err)
		}
	})
}
