package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBadInputIsRefusedAndTheServerLives(t *testing.T) {
	s := start(t)
	chat := func(content string) string {
		return `{"messages":[{"role":"user","content":` + content + `}],"max_tokens":4}`
	}
	for name, c := range map[string]struct {
		path, body string
		status     int
	}{
		"not JSON":             {"/v1/completions", "{", 400},
		"not an object":        {"/v1/completions", "[1]", 400},
		"unknown model":        {"/v1/completions", `{"model":"gpt-9","prompt":"x"}`, 404},
		"negative max_tokens":  {"/v1/completions", `{"prompt":"x","max_tokens":-1}`, 400},
		"prompt too long":      {"/v1/completions", `{"prompt":"` + strings.Repeat("word ", 20000) + `"}`, 400},
		"NUL byte":             {"/v1/completions", `{"prompt":"a\u0000b","max_tokens":4}`, 400},
		"NUL byte in a chat":   {"/v1/chat/completions", chat(`"a\u0000b"`), 400},
		"unknown class":        {"/v1/completions", `{"prompt":"x","class":"royal"}`, 400},
		"empty prompt":         {"/v1/completions", `{"prompt":""}`, 400},
		"no messages":          {"/v1/chat/completions", `{"messages":[]}`, 400},
		"temperature":          {"/v1/completions", `{"prompt":"x","temperature":99}`, 400},
		"wrong type":           {"/v1/completions", `{"prompt":"x","max_tokens":"many"}`, 400},
		"over the body limit":  {"/v1/completions", `{"prompt":"` + strings.Repeat("x", 8<<20) + `"}`, 413},
		"unknown route":        {"/v1/nothing", `{}`, 404},
		"token that is no one": {"/v1/completions", `{"prompt":[99999999],"max_tokens":4}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, body := s.post(t, c.path, c.body)
			var e struct {
				Error *struct {
					Message, Type string
				}
			}
			if err := json.Unmarshal(body, &e); code != c.status || err != nil || e.Error == nil || e.Error.Message == "" {
				t.Errorf("%d %.300s, want %d and an error object", code, body, c.status)
			}
		})
	}
	if text := s.complete(t, "Still here", 4); text == "" {
		t.Error("the server gives no text any more")
	}
	if log := s.log.String(); strings.Contains(log, "ERROR") || strings.Contains(log, "panic") {
		t.Errorf("bad input was logged as an internal error:\n%s", log)
	}
}

func TestWrongUseOfTheCommandLineExitsWithTwo(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"missing model":       {[]string{"serve", "--model", "no-such-file.gguf", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, "no-such-file.gguf"},
		"missing libraries":   {[]string{"serve", "--llama-lib", "no-such-folder", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, "no-such-folder"},
		"missing device":      {[]string{"serve", "--device", "CUDA0", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, "CUDA0"},
		"missing policy":      {[]string{"serve", "--policy", "no-such.wasm", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, "no-such.wasm"},
		"unknown flag":        {[]string{"serve", "--no-such-flag"}, "no-such-flag"},
		"unknown config key":  {[]string{"serve", "--config", writeConfig(t, "listen: 127.0.0.1:0\nlisten_on: x\n")}, "listen_on"},
		"missing trace":       {[]string{"replay", "--trace", "no-such.jsonl", "--policy", "native"}, "no-such.jsonl"},
		"a trace that is not": {[]string{"replay", "--trace", "badinput_test.go", "--policy", "native"}, "badinput_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "missing") {
				needModel(t)
			}
			_, errs, code := run(t, c.args...)
			if code != 2 || !strings.Contains(errs, c.says) {
				t.Errorf("exit code %d, %s; want 2 and a word on %s", code, errs, c.says)
			}
		})
	}
}
