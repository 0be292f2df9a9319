package sluice_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// read is what the decoder makes of a text: its keys and values.
func read(text []byte, keys []string) (map[string]string, error) {
	c, err := sluice.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for _, k := range keys {
		got[k] = c.String(k, "")
	}
	return got, c.Err() // an error here is a key that should not be there
}

// What the host marshals arrives unchanged.
func TestConfigRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.String(), rapid.String(), 0, 8).Draw(t, "settings")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for k := range want {
			keys = append(keys, k)
		}
		got, err := read(text, keys)
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%s reads as %q: %v", text, got, err)
		}
	})
}

// Errors say what and where.
func TestConfigSyntaxErrors(t *testing.T) {
	const prefix = "the configuration is not a JSON object of strings: "
	for text, want := range map[string]string{
		``:                  "no { found at byte 0",
		`[]`:                "no { found at byte 0",
		`{`:                 "no string found at byte 1",
		`{"a"}`:             "no : found at byte 4",
		`{"a":1}`:           "no string found at byte 5",
		`{"a":null}`:        "no string found at byte 5",
		`{"a":"b"`:          "no , or } found at byte 8",
		`{"a":"b",}`:        "no string found at byte 9",
		`{"a":"b"} x`:       "something follows the object at byte 10",
		`{"a":"b","a":"c"}`: "a key stands there twice at byte 16",
		`{"a":"b`:           "a string does not end at byte 7",
		`{"a":"\x"}`:        "a wrong escape ends at byte 8",
		`{"a":"\ud800"}`:    "a wrong escape ends at byte 12",
		"{\"a\":\"\n\"}":    "a control character stands at byte 6",
		"{\"a\":\"\xff\"}":  "a string that is not UTF-8 ends at byte 8",
	} {
		_, err := sluice.ParseConfig([]byte(text))
		if err == nil || err.Error() != prefix+want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Whatever the decoder takes, encoding/json takes as well, and reads the same.
func FuzzParseConfig(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : "b" } `, `{"max_age":"2s","max_age.1":"30s"}`, `{"\u00e9\n\"\\\/":"\ud83d\ude00"}`,
		`{"a":"\ud83d"}`, `{"a":"b","a":"c"}`, `{"a":1}`, `{"a":{"b":"c"}}`, "{\"\xff\":\"\"}", strings.Repeat(`{"a":`, 100),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := sluice.ParseConfig(text)
		var want map[string]string
		std := json.Unmarshal(text, &want)
		if err != nil {
			return
		}
		if std != nil || want == nil || !utf8.Valid(text) {
			t.Fatalf("%q is taken, and encoding/json says %v, %v", text, want, std)
		}
		keys := make([]string, 0, len(want))
		for k := range want {
			keys = append(keys, k)
		}
		if got, err := read(text, keys); err != nil || !maps.Equal(got, want) {
			t.Fatalf("%q reads as %q (%v), encoding/json has %q", text, got, err, want)
		}
	})
}
