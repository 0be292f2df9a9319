package server_test

import (
	"strings"
	"testing"
)

func TestAWrongTypeIsNamedWithTheOneThatIsWanted(t *testing.T) {
	f := start(t, options{})
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	for body, says := range map[string]string{
		`{"messages":{}}`:                          "messages must be an array, but is object",
		`{"messages":["hi"]}`:                      "messages must hold objects, but holds string",
		`{"messages":[{"role":1}]}`:                "messages.role must be a string, but is number",
		`{"logit_bias":[],` + hi + `}`:             "logit_bias must be an object, but is array",
		`{"logit_bias":{"5":"x"},` + hi + `}`:      "logit_bias must hold numbers, but holds string",
		`{"seed":18446744073709551615,` + hi + `}`: "seed must be an integer of 64 bits, but is the number 18446744073709551615",
		`{"temperature":1e999,` + hi + `}`:         "temperature must be a number of 64 bits, but is the number 1e999",
		`{"n":true,` + hi + `}`:                    "n must be an integer, but is bool",
	} {
		if resp, answer := f.post(t, "/v1/chat/completions", body); resp.StatusCode != 400 || !strings.Contains(readError(t, answer).Error.Message, says) {
			t.Errorf("%s: %d %s, want %q", body, resp.StatusCode, answer, says)
		}
	}
}
