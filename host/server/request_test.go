package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/host/engine"
)

const hi = `"messages":[{"role":"user","content":"hi"}]`

// Each bad request gets a 4xx that names the field, and nothing of it is an error in the log.
func TestBadRequests(t *testing.T) {
	f := start(t, options{})
	const chat, text = "/v1/chat/completions", "/v1/completions"
	for _, c := range []struct {
		path, body  string
		status      int
		code, param string
	}{
		{chat, ``, 400, "invalid_json", ""},
		{chat, `not json`, 400, "invalid_json", ""},
		{chat, `{"messages":`, 400, "invalid_json", ""},
		{chat, `[]`, 400, "invalid_type", ""},
		{chat, `null`, 400, "invalid_type", ""},
		{chat, `{} {}`, 400, "invalid_json", ""},
		{chat, "{\"messages\":\"\xff\"}", 400, "invalid_json", ""},
		{chat, `{}`, 400, "missing_field", "messages"},
		{chat, `{"messages":[]}`, 400, "missing_field", "messages"},
		{chat, `{"messages":{}}`, 400, "invalid_type", "messages"},
		{chat, `{"messages":[3]}`, 400, "invalid_type", "messages"},
		{chat, `{"messages":[{"role":"user"}]}`, 400, "missing_field", "messages[0].content"},
		{chat, `{"messages":[{"role":"user","content":7}]}`, 400, "invalid_type", "messages[0].content"},
		{chat, `{"messages":[{"role":"king","content":"x"}]}`, 400, "invalid_value", "messages[0].role"},
		{chat, `{"messages":[{"role":"tool","content":"x"}]}`, 400, "unsupported_parameter", "messages[0]"},
		{chat, `{"messages":[{"role":"user","content":"a\u0000b"}]}`, 400, "invalid_value", "messages[0].content"},
		{chat, `{"messages":[{"role":"user","content":"x"},{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "unsupported_parameter", "messages[1].content[0].type"},
		{chat, `{"messages":[{"role":"user","content":[{"type":"text"}]}]}`, 400, "missing_field", "messages[0].content[0].text"},
		{chat, `{"model":"nope",` + hi + `}`, 404, "model_not_found", "model"},
		{chat, `{"model":7,` + hi + `}`, 400, "invalid_type", "model"},
		{chat, `{"max_tokens":-1,` + hi + `}`, 400, "invalid_value", "max_tokens"},
		{chat, `{"max_tokens":0,` + hi + `}`, 400, "invalid_value", "max_tokens"},
		{chat, `{"max_tokens":"9",` + hi + `}`, 400, "invalid_type", "max_tokens"},
		{chat, `{"max_tokens":1.5,` + hi + `}`, 400, "invalid_type", "max_tokens"},
		{chat, `{"max_tokens":1e40,` + hi + `}`, 400, "invalid_type", "max_tokens"},
		{chat, `{"max_completion_tokens":5000,` + hi + `}`, 400, "context_length_exceeded", "max_completion_tokens"},
		{chat, `{"temperature":2.1,` + hi + `}`, 400, "invalid_value", "temperature"},
		{chat, `{"top_p":0,` + hi + `}`, 400, "invalid_value", "top_p"},
		{chat, `{"top_p":1.1,` + hi + `}`, 400, "invalid_value", "top_p"},
		{chat, `{"top_k":-2,` + hi + `}`, 400, "invalid_value", "top_k"},
		{chat, `{"min_p":-0.1,` + hi + `}`, 400, "invalid_value", "min_p"},
		{chat, `{"repetition_penalty":0,` + hi + `}`, 400, "invalid_value", "repetition_penalty"},
		{chat, `{"presence_penalty":-3,` + hi + `}`, 400, "invalid_value", "presence_penalty"},
		{chat, `{"frequency_penalty":3,` + hi + `}`, 400, "invalid_value", "frequency_penalty"},
		{chat, `{"logit_bias":{"x":1},` + hi + `}`, 400, "invalid_value", "logit_bias"},
		{chat, `{"logit_bias":{"99999":1},` + hi + `}`, 400, "invalid_value", "logit_bias"},
		{chat, `{"logit_bias":{"7":1,"07":-1},` + hi + `}`, 400, "invalid_value", "logit_bias"},
		{chat, `{"logit_bias":{"+7":1},` + hi + `}`, 400, "invalid_value", "logit_bias"},
		{chat, `{"logit_bias":{"1":101},` + hi + `}`, 400, "invalid_value", "logit_bias"},
		{chat, `{"seed":"x",` + hi + `}`, 400, "invalid_type", "seed"},
		{chat, `{"n":17,` + hi + `}`, 400, "invalid_value", "n"},
		{chat, `{"n":0,` + hi + `}`, 400, "invalid_value", "n"},
		{chat, `{"n":1.5,` + hi + `}`, 400, "invalid_type", "n"},
		{chat, `{"stop":["a","b","c","d","e"],` + hi + `}`, 400, "invalid_value", "stop"},
		{chat, `{"stop":[""],` + hi + `}`, 400, "invalid_value", "stop"},
		{chat, `{"stop":5,` + hi + `}`, 400, "invalid_type", "stop"},
		{chat, `{"stream":"yes",` + hi + `}`, 400, "invalid_type", "stream"},
		{chat, `{"stream_options":{"include_usage":1},` + hi + `}`, 400, "invalid_type", "stream_options.include_usage"},
		{chat, `{"logprobs":3,` + hi + `}`, 400, "invalid_type", "logprobs"},
		{chat, `{"top_logprobs":2,` + hi + `}`, 400, "invalid_value", "top_logprobs"},
		{chat, `{"logprobs":true,"top_logprobs":21,` + hi + `}`, 400, "invalid_value", "top_logprobs"},
		{chat, `{"logprobs":true,"top_logprobs":-1,` + hi + `}`, 400, "invalid_value", "top_logprobs"},
		{chat, `{"queue_ttl":"soon",` + hi + `}`, 400, "invalid_value", "queue_ttl"},
		{chat, `{"deadline":-1,` + hi + `}`, 400, "invalid_value", "deadline"},
		{chat, `{"ttft":[1],` + hi + `}`, 400, "invalid_value", "ttft"},
		{chat, `{"tenant":7,` + hi + `}`, 400, "invalid_type", "tenant"},
		{chat, `{"priority":"high",` + hi + `}`, 400, "invalid_type", "priority"},
		{chat, `{"response_format":{"type":"yaml"},` + hi + `}`, 400, "invalid_value", "response_format.type"},
		{chat, `{"response_format":"json_object",` + hi + `}`, 400, "invalid_type", "response_format"},
		{chat, `{"response_format":{"type":"json_schema"},` + hi + `}`, 400, "missing_field", "response_format.json_schema.schema"},
		{chat, `{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"string","format":"date"}}},` + hi + `}`, 400, "unsupported_schema", "response_format.json_schema.schema"},
		{chat, `{"response_format":{"type":"json_object"},"grammar":"root ::= \"a\"",` + hi + `}`, 400, "invalid_value", "grammar"},
		{text, `{"prompt":"x","grammar":"root ::= root"}`, 400, "invalid_value", "grammar"},
		{text, `{"prompt":"x","grammar":"root ::= \"a\u0000"}`, 400, "invalid_value", "grammar"},
		{text, `{"prompt":"x","grammar":"root ::= ` + strings.Repeat("(", 5000) + `"}`, 400, "invalid_value", "grammar"},
		{text, `{"prompt":"x","grammar":7}`, 400, "invalid_type", "grammar"},
		{chat, `{"tools":[{"type":"function"}],` + hi + `}`, 400, "unsupported_parameter", "tools"},
		{chat, `{"min_tokens":3,` + hi + `}`, 400, "unsupported_parameter", "min_tokens"},
		{chat, `{"class":"vip",` + hi + `}`, 400, "unknown_class", "class"},
		{chat, `{"priority":3000000000,` + hi + `}`, 400, "invalid_value", "priority"},
		{text, `{}`, 400, "missing_field", "prompt"},
		{text, `{"prompt":""}`, 400, "invalid_value", "prompt"},
		{text, `{"prompt":[]}`, 400, "invalid_value", "prompt"},
		{text, `{"prompt":7}`, 400, "invalid_type", "prompt"},
		{text, `{"prompt":"a\u0000"}`, 400, "invalid_value", "prompt"},
		{text, `{"prompt":["a","b"]}`, 400, "unsupported_parameter", "prompt"},
		{text, `{"prompt":[[1],[2]]}`, 400, "unsupported_parameter", "prompt"},
		{text, `{"prompt":[1,"x"]}`, 400, "invalid_type", "prompt"},
		{text, `{"prompt":[1,-1]}`, 400, "invalid_value", "prompt"},
		{text, `{"prompt":[300]}`, 400, "invalid_value", "prompt"},
		{text, `{"prompt":"` + strings.Repeat("x", simContext) + `"}`, 400, "context_length_exceeded", "prompt"},
		{text, `{"prompt":"x","echo":true}`, 400, "unsupported_parameter", "echo"},
		{text, `{"prompt":"x","suffix":"y"}`, 400, "unsupported_parameter", "suffix"},
		{text, `{"prompt":"x","best_of":2}`, 400, "unsupported_parameter", "best_of"},
		{text, `{"prompt":"x","logprobs":true}`, 400, "invalid_type", "logprobs"},
		{text, `{"prompt":"x","logprobs":21}`, 400, "invalid_value", "logprobs"},
		{text, `{"prompt":"x","top_logprobs":1}`, 400, "unsupported_parameter", "top_logprobs"},
		{"/tokenize", `{"model":"nope","prompt":"x"}`, 404, "model_not_found", "model"},
		{"/tokenize", `{}`, 400, "missing_field", "prompt"},
	} {
		resp, body := f.post(t, c.path, c.body)
		e := readError(t, body)
		param := ""
		if e.Error.Param != nil {
			param = *e.Error.Param
		}
		if resp.StatusCode != c.status || e.Error.Code != c.code || param != c.param {
			t.Errorf("%s %.90s\n\tgot  %d %s %q: %s\n\twant %d %s %q", c.path, c.body, resp.StatusCode, e.Error.Code, param, e.Error.Message, c.status, c.code, c.param)
		}
	}
	if log := f.Log(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
		t.Errorf("bad input was logged as an internal error:\n%s", log)
	}
	if n := len(f.Records()); n != 0 {
		t.Errorf("%d bad requests reached the engine", n)
	}
}

// What clients and load tools send, with all that asks for nothing.
func TestGoodRequests(t *testing.T) {
	f := start(t, options{})
	for _, c := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"sim:cpu-smollm2","max_tokens":2,"temperature":0,"top_p":1,"n":1,"stop":null,"logprobs":null,"user":"u","metadata":{},` + hi + `}`},
		{"/v1/chat/completions", `{"max_tokens":2,"logprobs":false,"top_logprobs":0,"tools":[],"tool_choice":"none","response_format":{"type":"text"},"logit_bias":null,` + hi + `}`},
		{"/v1/chat/completions", `{"max_tokens":2,"response_format": {"type" : "text"},"top_k":-1,"stop":"zz","priority":-5,"class":"batch",` + hi + `}`},
		{"/v1/chat/completions", `{"max_tokens":2,"messages":[{"role":"developer","content":"be brief"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":null},{"role":"user","content":"  "}]}`},
		{"/v1/completions", `{"prompt":"x","max_tokens":2,"repetition_penalty":1.1,"logprobs":null,"echo":false,"suffix":null,"best_of":1,"logit_bias":{"65":-100}}`},
		{"/v1/completions", `{"prompt":["x"],"max_tokens":2}`},
		{"/v1/completions", `{"prompt":[120,121],"max_tokens":2}`},
		{"/v1/completions", `{"prompt":[[120]],"max_tokens":2,"seed":-3,"temperature":1.5,"min_p":0.1}`},
	} {
		if resp, body := f.post(t, c.path, c.body); resp.StatusCode != 200 {
			t.Errorf("%s %s\n\t%d %s", c.path, c.body, resp.StatusCode, body)
		}
	}
}

// Without a temperature the answer is greedy; with one, the seed decides.
func TestSamplingFollowsTheRequest(t *testing.T) {
	f := start(t, options{})
	ask := func(extra string) string {
		_, body := f.post(t, "/v1/completions", `{"prompt":"once","max_tokens":40,"ignore_eos":true`+extra+`}`)
		var r struct{ Choices []struct{ Text string } }
		if err := json.Unmarshal(body, &r); err != nil || len(r.Choices) != 1 {
			t.Fatalf("%v: %s", err, body)
		}
		return r.Choices[0].Text
	}
	if greedy := ask(``); greedy != ask(``) || greedy != ask(`,"temperature":0,"seed":3`) {
		t.Error("greedy text differs")
	}
	hot := `,"temperature":2,"seed":`
	if ask(hot+`1`) != ask(hot+`1`) || ask(hot+`1`) == ask(hot+`2`) {
		t.Error("the seed does not decide")
	}
	if strings.ContainsRune(ask(`,"logit_bias":{"101":-100}`), 'e') {
		t.Error("a forbidden token was drawn")
	}
}

func TestHeadersReachTheEngine(t *testing.T) {
	f := start(t, options{})
	body := `{"prompt":"x","max_tokens":1}`
	f.post(t, "/v1/completions", body, "x-sluice-class", "batch", "x-sluice-priority", "-7", "x-sluice-queue-ttl", "2.5",
		"x-stainless-retry-count", "2", "Authorization", "Bearer topsecret")
	f.Await(t, "was recorded", func(engine.Snapshot) bool { return len(f.Records()) == 1 })
	r := f.Records()[0]
	if r.Class != "batch" || r.Priority != -7 || r.TTL != 2_500_000_000 || r.Attempt != 2 || r.Tenant == "" || len(r.ID) != 26 {
		t.Errorf("%+v", r)
	}
	if strings.Contains(f.Log(), "topsecret") {
		t.Error("an API key is in the log")
	}
	for name, v := range map[string]string{
		"x-sluice-class": "nobody", "x-sluice-priority": "high", "x-sluice-queue-ttl": "-1s", "x-sluice-deadline": "soon",
		"x-sluice-speculation": "maybe", "x-sluice-tenant": strings.Repeat("t", 300),
	} {
		if resp, answer := f.post(t, "/v1/completions", body, name, v); resp.StatusCode != 400 {
			t.Errorf("%s: %s: %d %s", name, v, resp.StatusCode, answer)
		}
	}
	for _, id := range []string{"a b", strings.Repeat("x", 200), `<script>`} {
		if resp, _ := f.post(t, "/v1/completions", body, "x-request-id", id); len(resp.Header.Get("x-request-id")) != 26 {
			t.Errorf("id %q was echoed as %q", id, resp.Header.Get("x-request-id"))
		}
	}
}

func TestTokenizeAgreesWithUsage(t *testing.T) {
	f := start(t, options{})
	for _, c := range []struct{ path, prompt string }{
		{"/v1/completions", `"prompt":"two words"`},
		{"/v1/chat/completions", `"messages":[{"role":"system","content":"be"},{"role":"user","content":" hello "}]`},
	} {
		_, body := f.post(t, "/tokenize", `{"return_token_strs":true,`+c.prompt+`}`)
		var tok struct {
			Count, Max int
			MaxLen     int      `json:"max_model_len"`
			Tokens     []int    `json:"tokens"`
			Texts      []string `json:"token_strs"`
		}
		if err := json.Unmarshal(body, &tok); err != nil || tok.Count != len(tok.Tokens) || len(tok.Texts) != tok.Count || tok.MaxLen != simContext {
			t.Fatalf("%v: %s", err, body)
		}
		_, answer := f.post(t, c.path, `{"max_tokens":1,`+c.prompt+`}`)
		var u struct{ Usage usage }
		if err := json.Unmarshal(answer, &u); err != nil || u.Usage.Prompt != tok.Count {
			t.Errorf("%s: %d tokens, usage %+v", c.path, tok.Count, u.Usage)
		}
		ids, _ := json.Marshal(tok.Tokens)
		if resp, _ := f.post(t, "/v1/completions", fmt.Sprintf(`{"prompt":%s,"max_tokens":1}`, ids)); resp.StatusCode != http.StatusOK {
			t.Errorf("its own tokens are refused: %d", resp.StatusCode)
		}
	}
}
