package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/server/servertest"
)

// tokenProb is one token of a chat's log probabilities.
type tokenProb struct {
	Token   string
	Logprob *float64
	Bytes   []int
	Top     []tokenProb `json:"top_logprobs"`
}

type chatProbs struct {
	Choices []struct {
		Message  struct{ Content string }
		Logprobs *struct{ Content []tokenProb }
	}
}

// A chat's log probabilities: one for each token, whose texts make the answer, with the alternatives in their order, and the same
// in a stream as in one piece.
func TestLogprobsOfAChat(t *testing.T) {
	f := start(t, options{})
	body := `{"max_tokens":6,"ignore_eos":true,"logprobs":true,"top_logprobs":3,` + hi
	_, whole := f.post(t, "/v1/chat/completions", body+`}`)
	var w chatProbs
	if err := json.Unmarshal(whole, &w); err != nil || w.Choices[0].Logprobs == nil || len(w.Choices[0].Logprobs.Content) != 6 {
		t.Fatalf("%v: %s", err, whole)
	}
	var raw []byte
	for _, p := range w.Choices[0].Logprobs.Content {
		for _, b := range p.Bytes {
			raw = append(raw, byte(b))
		}
		if p.Logprob == nil || *p.Logprob > 0 || len(p.Top) != 3 || *p.Top[0].Logprob < *p.Top[1].Logprob || *p.Top[1].Logprob < *p.Top[2].Logprob {
			t.Errorf("%+v", p)
		} else if p.Token != p.Top[0].Token || math.Abs(*p.Logprob-*p.Top[0].Logprob) > 1e-6 {
			t.Errorf("a greedy answer has %q and not %q", p.Token, p.Top[0].Token)
		}
	}
	if got := strings.ToValidUTF8(string(raw), "\uFFFD"); got != w.Choices[0].Message.Content {
		t.Errorf("the tokens say %q, the text %q", got, w.Choices[0].Message.Content)
	}
	_, streamed := f.post(t, "/v1/chat/completions", body+`,"stream":true}`)
	var all []tokenProb
	for _, line := range strings.Split(string(streamed), "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var c chatProbs
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Fatal(err)
		}
		if c.Choices[0].Logprobs != nil {
			all = append(all, c.Choices[0].Logprobs.Content...)
		}
	}
	if got, want := fmt.Sprintf("%+v", tokensOf(all)), fmt.Sprintf("%+v", tokensOf(w.Choices[0].Logprobs.Content)); got != want {
		t.Errorf("streamed %s, whole %s", got, want)
	}
	_, plain := f.post(t, "/v1/chat/completions", `{"max_tokens":2,`+hi+`}`)
	if !strings.Contains(string(plain), `"logprobs":null`) {
		t.Errorf("not asked for: %s", plain)
	}
}

func tokensOf(probs []tokenProb) (names []string) {
	for _, p := range probs {
		names = append(names, fmt.Sprintf("%s %.4f", p.Token, *p.Logprob))
	}
	return names
}

// A completion's log probabilities have the older form, with the places of the tokens in the text.
func TestLogprobsOfACompletion(t *testing.T) {
	f := start(t, options{})
	for asked, alternatives := range map[string]int{"0": 0, "2": 2} {
		_, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":5,"ignore_eos":true,"logprobs":`+asked+`}`)
		var w struct {
			Choices []struct {
				Text     string
				Logprobs struct {
					Tokens  []string
					Logs    []float64            `json:"token_logprobs"`
					Top     []map[string]float64 `json:"top_logprobs"`
					Offsets []int                `json:"text_offset"`
				}
			}
		}
		if err := json.Unmarshal(body, &w); err != nil {
			t.Fatal(err)
		}
		p := w.Choices[0].Logprobs
		if len(p.Tokens) != 5 || len(p.Logs) != 5 || len(p.Top) != 5 || len(p.Offsets) != 5 {
			t.Fatalf("logprobs %s: %s", asked, body)
		}
		for i := range p.Tokens {
			if len(p.Top[i]) != alternatives || i > 0 && p.Offsets[i] != p.Offsets[i-1]+1 || p.Logs[i] > 0 {
				t.Errorf("logprobs %s, token %d: %s", asked, i, body)
			}
			if top, ok := p.Top[i][p.Tokens[i]]; alternatives > 0 && (!ok || math.Abs(top-p.Logs[i]) > 1e-6) {
				t.Errorf("the token is not among its alternatives: %s", body)
			}
		}
	}
}

// The reason of the end stands on the last token's chunk when it is known then.
func TestTheReasonStandsOnTheLastTokensChunk(t *testing.T) {
	f := start(t, options{})
	for _, n := range []int{1, 7} {
		_, body := f.post(t, "/v1/chat/completions", fmt.Sprintf(`{"stream":true,"max_tokens":%d,"ignore_eos":true,%s}`, n, hi))
		chunks, _ := events(t, body)
		last := chunks[len(chunks)-1]
		if last.Choices[0].Finish == nil || last.text() == "" {
			t.Errorf("%d tokens: the last chunk is %+v", n, last)
		}
	}
}

func TestTheUsageNamesCachedTokens(t *testing.T) {
	f := start(t, options{})
	body := `{"prompt":"` + strings.Repeat("a long prompt ", 12) + `","max_tokens":2,"ignore_eos":true}`
	var cached []int
	for range 2 {
		_, answer := f.post(t, "/v1/completions", body)
		var w struct {
			Usage struct {
				Details *struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		if err := json.Unmarshal(answer, &w); err != nil || w.Usage.Details == nil {
			t.Fatalf("%v: %s", err, answer)
		}
		cached = append(cached, w.Usage.Details.Cached)
		f.Await(t, "became idle", func(s engine.Snapshot) bool { return s.State.Running == 0 })
	}
	if cached[0] != 0 || cached[1] == 0 {
		t.Errorf("cached tokens of the first and second time: %v", cached)
	}
}

// The record of a stream knows when its first text left; that of a whole answer, which is written after it, does not.
func TestTheRecordKnowsTheFirstWrite(t *testing.T) {
	f := start(t, slow(1))
	f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":40,"ignore_eos":true,"stream":true}`)
	f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":4,"ignore_eos":true}`)
	f.Await(t, "recorded both", func(engine.Snapshot) bool { return len(f.Records()) == 2 })
	stream, whole := f.Records()[0], f.Records()[1]
	if stream.Written == nil || stream.TTFT == nil || *stream.Written < *stream.TTFT || *stream.Written > stream.E2E {
		t.Errorf("stream: %+v", stream)
	}
	if whole.Written != nil {
		t.Errorf("whole: first write %d", *whole.Written)
	}
}

const person = `{"type":"object","properties":{"name":{"type":"string","maxLength":8},"age":{"type":"integer"},"tags":{"type":"array","maxItems":2,"items":{"enum":["a","b"]}}},"required":["name","age","tags"],"additionalProperties":false}`

// An answer under a grammar is one of its texts, whatever the model would rather say, on a model that knows nothing of JSON.
func TestConstrainedAnswers(t *testing.T) {
	f := start(t, options{})
	for name, format := range map[string]string{
		"json_schema": `"response_format":{"type":"json_schema","json_schema":{"name":"p","schema":` + person + `}}`,
		"grammar":     `"grammar":"root ::= \"{\\\"name\\\":\\\"x\\\",\\\"age\\\":\" [1-9] [0-9]{0,2} \",\\\"tags\\\":[]}\""`,
	} {
		for _, more := range []string{"", `,"temperature":1.5,"seed":3`, `,"n":3,"temperature":1`, `,"logprobs":true`} {
			_, body := f.post(t, "/v1/chat/completions", `{"max_tokens":400,`+format+more+`,`+hi+`}`)
			var w struct {
				Choices []struct {
					Message struct{ Content string }
					Finish  string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal(body, &w); err != nil || len(w.Choices) == 0 {
				t.Fatalf("%s %s: %v: %s", name, more, err, body)
			}
			for _, c := range w.Choices {
				checkPerson(t, name+more, c.Message.Content, c.Finish)
			}
		}
	}
	_, body := f.post(t, "/v1/chat/completions", `{"max_tokens":200,"response_format":{"type":"json_object"},`+hi+`}`)
	var w chatProbs
	if err := json.Unmarshal(body, &w); err != nil || !strings.HasPrefix(w.Choices[0].Message.Content, "{") {
		t.Errorf("json_object: %s", body)
	}
}

func checkPerson(t *testing.T, what, text, finish string) {
	t.Helper()
	var p struct {
		Name *string
		Age  *int
		Tags []string
	}
	if finish == "length" { // cut off inside of it: a model may count for long
		if !strings.HasPrefix(strings.TrimSpace(text), "{") {
			t.Errorf("%s: %q", what, text)
		}
		return
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.Name == nil || p.Age == nil || p.Tags == nil || finish != "stop" {
		t.Errorf("%s: %v (%s): %q", what, err, finish, text)
	}
}

// The real model answers under a schema, with speculation and without.
func TestTheModelAnswersUnderASchema(t *testing.T) {
	f := &fixture{servertest.StartModel(t, servertest.Options{}), newClient(t)}
	for _, spec := range []string{"on", "off"} {
		_, body := f.post(t, "/v1/chat/completions", `{"max_tokens":120,"response_format":{"type":"json_schema","json_schema":{"name":"p","schema":`+person+`}},`+
			`"messages":[{"role":"user","content":"Describe a person as JSON."}]}`, "x-sluice-speculation", spec)
		var w struct {
			Choices []struct {
				Message struct{ Content string }
				Finish  string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal(body, &w); err != nil || len(w.Choices) == 0 {
			t.Fatalf("%v: %s", err, body)
		}
		checkPerson(t, "speculation "+spec, w.Choices[0].Message.Content, w.Choices[0].Finish)
		if w.Choices[0].Finish != "stop" {
			t.Errorf("the answer does not end: %q", w.Choices[0].Message.Content)
		}
	}
}

// A grammar whose readings double with each character holds nobody up.
func TestAHostileGrammarDoesNotDisturbOthers(t *testing.T) {
	f := start(t, options{})
	blow := `"grammar":"root ::= s\ns ::= \"a\" s x | \"a\" s y | \"b\"\nx ::= \"c\"\ny ::= \"d\""`
	resp, body := f.post(t, "/v1/completions", `{"prompt":"aaaaaaaaaaaaaaaa","max_tokens":120,"temperature":1,"logit_bias":{"97":100,"98":-100},`+blow+`}`)
	if resp.StatusCode != 200 || !strings.Contains(string(body), `"text":"aaaaaaaaaa`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`); resp.StatusCode != 200 {
		t.Errorf("the next request got %d", resp.StatusCode)
	}
}
