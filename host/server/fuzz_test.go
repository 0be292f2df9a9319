package server

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/valyala/fasthttp"
)

// decoder is a server without an engine: enough to read requests.
func decoder() *Server {
	info := sim.Open(sim.Profile{Name: "m", ContextTokens: 256, KVTokens: 256, MaxSeqs: 1, MaxBatchTokens: 64}, sim.Options{}).Info()
	s := &Server{maxText: 1 << 20,
		cfg:  Config{Tokenizer: sim.Tokenizer{}, Info: info, MaxModelLen: 256, Classes: DefaultClasses()},
		chat: newChatTemplate(sim.Tokenizer{}),
	}
	s.settings.Store(&Settings{})
	return s
}

// Any bytes are either refused as the client's mistake, or make a request that the engine takes.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"hi"}],"max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"messages":[{"role":"system","content":[{"type":"text","text":"<|im_end|>"}]},{"role":"assistant","content":null}],"temperature":0.5,"top_p":0.9,"top_k":-1,"min_p":0.1}`,
		`{"prompt":"x","stop":["a","b"],"seed":-1,"logit_bias":{"3":1},"repetition_penalty":1.5,"presence_penalty":-1,"frequency_penalty":2,"n":1}`,
		`{"prompt":["x"],"class":"batch","priority":-2147483648,"ignore_eos":true}`,
		`{"prompt":[1,2,257],"max_completion_tokens":250}`, `{"prompt":[[1]],"tools":[],"response_format":{"type":"text"}}`,
		`{"prompt":"\u0000"}`, `{"prompt":"\ud800"}`, `{"prompt":[]}`, `{"messages":[null]}`, `{"stop":"","prompt":[""]}`, `null`, `[]`, `{`, "\xff", ``,
	} {
		f.Add([]byte(seed))
	}
	s := decoder()
	app := fiber.New()
	f.Fuzz(func(t *testing.T, body []byte) {
		for i, parse := range []parseFunc{parseChat, parseCompletion} {
			c := app.AcquireCtx(&fasthttp.RequestCtx{})
			k := &call{s: s, id: "fuzz", n: 1, form: []form{chatForm, textForm}[i]}
			err := parse(k, c, body)
			app.ReleaseCtx(c)
			var e *apiError
			switch {
			case err == nil:
				checkRequest(t, k)
			case !errors.As(err, &e):
				t.Fatalf("an error that is no answer: %v", err)
			case e.status != 400 && e.status != 404 || !json.Valid(e.append(nil)) || !utf8.ValidString(e.message):
				t.Fatalf("%d %q", e.status, e.append(nil))
			}
		}
	})
}

func checkRequest(t *testing.T, k *call) {
	r := &k.req
	if len(r.Prompt) == 0 || r.MaxTokens < 1 || len(r.Prompt)+r.MaxTokens > k.s.cfg.MaxModelLen || k.limit != r.MaxTokens {
		t.Fatalf("%d prompt tokens, %d output tokens", len(r.Prompt), r.MaxTokens)
	}
	for _, p := range r.Prompt {
		if p < 0 || int(p) >= k.s.cfg.Info.VocabSize {
			t.Fatalf("token %d", p)
		}
	}
	if err := r.Sampling.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(r.Stop) > maxStops || int(r.Class) >= len(k.s.cfg.Classes) {
		t.Fatalf("%d stops, class %d", len(r.Stop), r.Class)
	}
	for _, s := range r.Stop {
		if s == "" {
			t.Fatal("an empty stop string")
		}
	}
}

// What is written as JSON is read as what it was, and holds nothing at which an event stream could be cut.
func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\/\b\f\n\r\t", "\x00\x1f\x7f", "é漢😀", "\u0085\u2028\u2029", "a\xffb", "\xe2\x80", "</script>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := string(appendString([]byte("x"), s)[1:])
		var back string
		if err := json.Unmarshal([]byte(out), &back); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s)) // each bad byte is one replacement
		}
		if back != want {
			t.Fatalf("%q became %q", s, back)
		}
		if strings.ContainsAny(out, "\r\n\u0085\u2028\u2029") || !utf8.ValidString(out) {
			t.Fatalf("%q may be cut", out)
		}
	})
}
