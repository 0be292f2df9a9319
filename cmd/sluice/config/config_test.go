package config

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden errors anew")

func noEnv(string) (string, bool) { return "", false }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each file of testdata/bad is refused with the one line that stands beside it, and the line says where.
func TestBadFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	if len(files) < 20 {
		t.Fatalf("found %d files", len(files))
	}
	for _, file := range files {
		_, err := Load(file, noEnv, nil)
		if err == nil {
			t.Errorf("%s: accepted", file)
			continue
		}
		got := strings.ReplaceAll(err.Error(), "testdata/bad/", "") + "\n"
		if strings.Count(got, "\n") != 1 {
			t.Errorf("%s: more than one line:\n%s", file, got)
		}
		if !strings.HasPrefix(got, filepath.Base(file)+":") {
			t.Errorf("%s: the error does not begin with the place: %s", file, got)
		}
		golden := strings.TrimSuffix(file, ".yaml") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n got %s\nwant %s", file, got, want)
		}
	}
}

const whole = `
model: m.gguf
llama_lib: /lib/llama
device: cpu
listen: 0.0.0.0:0
data: d
admin: {listen: "[::1]:9", token_file: t}
policies:
  - file: a/queue-age.wasm
    set: {max_age: 2s, limit: 5, strict: true}
  - {file: b.wasm, name: other}
classes:
  - {name: chat, ttft: 500ms, tpot: 40ms, max_gap: 1s}
  - name: batch
limits:
  max_seqs: 8
  max_draft: -1
  drain_timeout: 5s
compute: {threads: 2, kv: split}
speculate: {drafter: eagle3, model: head.gguf}
log: {level: debug, format: json}
`

func TestWholeFile(t *testing.T) {
	c, err := Load(write(t, whole), noEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Shipped() || len(c.Policies) != 2 || c.Policies[0].Name != "queue-age" || c.Policies[1].Name != "other" {
		t.Errorf("policies %+v, shipped %v", c.Policies, c.Shipped())
	}
	if s := c.Policies[0].Set; s["max_age"] != "2s" || s["limit"] != "5" || s["strict"] != "true" {
		t.Errorf("settings %v", s)
	}
	if len(c.Classes) != 2 || c.Classes[0].TTFT != Duration(500*time.Millisecond) || c.Limits.MaxSeqs != 8 || c.Limits.MaxDraft != -1 {
		t.Errorf("%+v", c)
	}
	if c.Limits.BodyBytes != Default().Limits.BodyBytes {
		t.Errorf("a key that the file leaves out lost its default: %d", c.Limits.BodyBytes)
	}
	if c.Speculate != (Speculate{Drafter: DrafterEAGLE3, Model: "head.gguf"}) {
		t.Errorf("speculate %+v", c.Speculate)
	}
	if got := c.Origin("limits.max_seqs"); !strings.HasSuffix(got, "sluice.yaml:16") {
		t.Errorf("origin of limits.max_seqs: %s", got)
	}
}

func TestShippedPoliciesUnlessNamed(t *testing.T) {
	for text, want := range map[string]bool{"": true, "# nothing\n": true, "model: x\n": true, "policies: []\n": false} {
		c, err := Load(write(t, text), noEnv, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if c.Shipped() != want {
			t.Errorf("%q: shipped = %v", text, c.Shipped())
		}
	}
}

// Flags win over the environment, the environment over the file, the file over the default; for every key.
func TestPrecedence(t *testing.T) {
	path := write(t, "model: file\nlisten: 127.0.0.1:1\nadmin:\n  listen: 127.0.0.1:1\nlimits:\n  max_seqs: 1\n")
	env := func(k string) (string, bool) {
		v, ok := map[string]string{"SLUICE_MODEL": "env", "SLUICE_ADMIN": "http://127.0.0.1:2/", "SLUICE_LIMITS_MAX_SEQS": "2", "SLUICE_DATA": ""}[k]
		return v, ok
	}
	c, err := Load(path, env, map[string]string{"model": "flag"})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ key, got, want, origin string }{
		{"model", c.Model, "flag", "--model"},
		{"admin.listen", c.Admin.Listen, "127.0.0.1:2", "$SLUICE_ADMIN"},
		{"listen", c.Listen, "127.0.0.1:1", path + ":2"},
		{"device", c.Device, "auto", "default"},
	} {
		if x.got != x.want || c.Origin(x.key) != x.origin {
			t.Errorf("%s is %q from %s, want %q from %s", x.key, x.got, c.Origin(x.key), x.want, x.origin)
		}
	}
	if c.Limits.MaxSeqs != 2 {
		t.Errorf("max_seqs %d", c.Limits.MaxSeqs)
	}
}

func TestWrongEnvironmentAndFlags(t *testing.T) {
	env := func(k string) (string, bool) { return "lots", k == "SLUICE_LIMITS_MAX_SEQS" }
	_, err := Load("", env, nil)
	if want := `$SLUICE_LIMITS_MAX_SEQS: limits.max_seqs cannot be "lots"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for flag, want := range map[string]string{
		"listen":            `--listen: listen must be HOST:PORT, like 127.0.0.1:8080, but is "here"`,
		"admin.listen":      `--admin: admin.listen must be HOST:PORT, like 127.0.0.1:8080, but is "here"`,
		"speculate.drafter": `--drafter: speculate.drafter must be one of ngram, draft-model, eagle3, mtp, off, but is "here"`,
		"speculate.model":   `--draft-model: speculate.model is here, but the drafter ngram reads no file`,
	} {
		_, err := Load("", noEnv, map[string]string{flag: "here"})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), noEnv, nil); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("missing file: %v", err)
	}
}

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]Policy{
		"a.wasm":                    {Name: "a", File: "a.wasm"},
		"d/q-age.wasm:max_age=2s":   {Name: "q-age", File: "d/q-age.wasm", Set: map[string]string{"max_age": "2s"}},
		"a.wasm:k=v,l=":             {Name: "a", File: "a.wasm", Set: map[string]string{"k": "v", "l": ""}},
		"odd:name.wasm:u=http://x/": {Name: "odd:name", File: "odd:name.wasm", Set: map[string]string{"u": "http://x/"}},
		"plain:":                    {Name: "plain:", File: "plain:"},
	} {
		got, err := ParsePolicy(text)
		if err != nil || got.Name != want.Name || got.File != want.File || len(got.Set) != len(want.Set) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
		for k, v := range want.Set {
			if got.Set[k] != v {
				t.Errorf("%q: setting %s = %q, want %q", text, k, got.Set[k], v)
			}
		}
	}
	for _, text := range []string{"", ":k=v", "a.wasm:k=v,w", "a.wasm:k=v,k=w", "a.wasm:k=v,=w"} {
		if p, err := ParsePolicy(text); err == nil {
			t.Errorf("%q was read as %+v", text, p)
		}
	}
}

func TestSettingsHint(t *testing.T) {
	for _, c := range []struct{ file, flag, want string }{
		{"a.wasm", "", ""}, {"d/a.wasm", "--set", ""}, {"a:b", "", ""},
		{"a.wasm:k", "", `; settings follow the file as a.wasm:key=value,key=value, but "k" is not key=value`},
		{"d/a.wasm:k=v", "--set", "; settings are given as --set key=value: d/a.wasm --set ..."},
	} {
		if got := SettingsHint(c.file, c.flag); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.file, c.flag, got, c.want)
		}
	}
}

func TestClassHint(t *testing.T) {
	classes := []string{"interactive", "batch", "2"}
	for key, want := range map[string]string{
		"max_age.batch":   "; class batch is number 1 here: max_age.1",
		"age.interactive": "; class interactive is number 0 here: age.0",
		"max_age.1":       "", "max_age.2": "", "max_age.other": "", "batch": "", "max_agebatch": "",
	} {
		if got := ClassHint(map[string]string{key: "2s"}, classes); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(whole))
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Default()
		c.origins = map[string]string{}
		if c.readFile("fuzz.yaml", data) == nil {
			_ = c.Validate()
		}
	})
}

// The example states every default, and nothing that is not one.
func TestExampleStatesTheDefaults(t *testing.T) {
	c, err := Load("../../../examples/sluice.yaml", noEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../examples/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range knownKeys() {
		if last := key[strings.LastIndexByte(key, '.')+1:]; !strings.Contains(string(text), last+":") {
			t.Errorf("the example does not show %s", key)
		}
	}
	c.origins = nil
	if want := Default(); !reflect.DeepEqual(*c, want) {
		t.Errorf("the example gives\n%+v\nthe defaults are\n%+v", *c, want)
	}
}
