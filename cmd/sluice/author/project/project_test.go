package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, dir, file, text string) {
	t.Helper()
	if err := writeFile(filepath.Join(dir, file), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestTheLanguageIsSeenFromTheFiles(t *testing.T) {
	for file, want := range map[string]string{
		"go.mod": "go", "Cargo.toml": "rust", "assembly/index.ts": "as", "policy.c": "c", "README.md": "", "src/policy.c": "",
	} {
		dir := filepath.Join(t.TempDir(), "a [folder]*")
		write(t, dir, file, "")
		l, err := Detect(dir)
		if want == "" {
			if err == nil {
				t.Errorf("%s is taken for %s", file, l.Name)
			}
			continue
		}
		if err != nil || l.Name != want {
			t.Errorf("%s: %v, %v", file, l, err)
		}
	}
}

func TestTheModuleHasThePolicysName(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"go.mod", "// a\nmodule example.com/x/mine\n\ngo 1.26\n", "mine"}, {"go.mod", "module mine", "mine"}, {"go.mod", "", "folder"},
		{"Cargo.toml", "[package]\nname = \"mine\"\n", "mine"}, {"package.json", "{\n  \"name\": \"@x/mine\",\n", "mine"},
		{"Makefile", "all: x\nmine.wasm: policy.c\n", "mine"}, {"Makefile", "build/x.wasm: a.c\n", "folder"},
	} {
		dir := filepath.Join(t.TempDir(), "folder")
		write(t, dir, c.file, c.text)
		if also := map[string]string{"package.json": "assembly/index.ts", "Makefile": "policy.c"}[c.file]; also != "" {
			write(t, dir, also, "")
		}
		if got, err := Module(dir); err != nil || got != filepath.Join(dir, c.want+".wasm") {
			t.Errorf("%s %q: %s, %v", c.file, c.text, got, err)
		}
	}
}

// Every language that is offered has its SDK and a template in the binary, whose names are filled in.
func TestEveryLanguageBegins(t *testing.T) {
	for _, lang := range Names() {
		dir := filepath.Join(t.TempDir(), "p")
		files, err := New(lang, "some-name", dir)
		if err != nil {
			t.Errorf("%s: %v", lang, err)
			continue
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "__NAME__") || strings.HasSuffix(f, ".tmpl") {
				t.Errorf("%s: %s is still a template", lang, f)
			}
		}
		if l, err := Detect(dir); err != nil || l.Name != lang {
			t.Errorf("%s: its project looks like %v, %v", lang, l, err)
		}
		if entries, err := os.ReadDir(filepath.Join(dir, sdkDir)); err != nil || len(entries) == 0 {
			t.Errorf("%s: no SDK: %v", lang, err)
		}
		if cases, err := filepath.Glob(filepath.Join(dir, "cases", "*.yaml")); err != nil || len(cases) == 0 {
			t.Errorf("%s: no cases: %v", lang, err)
		}
	}
}

func TestWhatCannotBeWrittenLeavesNothingBehind(t *testing.T) {
	l := &Language{Name: "none", Title: "None", sdk: "nothing"}
	dir := filepath.Join(t.TempDir(), "p")
	if _, err := l.write("x", dir); err == nil {
		t.Error("an SDK that there is not was copied")
	}
	if err := clearOut(dir, false); err != nil {
		t.Error(err)
	}
	write(t, dir, "a/b", "")
	if err := clearOut(dir, true); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestStampsFollowTheSources(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main.go", "a")
	last, err := Stamp(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		do      func()
		changes bool
	}{
		{"nothing", func() {}, false},
		{"a file more", func() { write(t, dir, "cases/a.yaml", "a") }, true},
		{"a file changed", func() { write(t, dir, "cases/a.yaml", "ab") }, true},
		{"a file touched", func() {
			if err := os.Chtimes(filepath.Join(dir, "main.go"), time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a module built", func() { write(t, dir, "x.wasm", "a") }, false},
		{"what toolchains write", func() { write(t, dir, "target/release/x.d", "a"); write(t, dir, "node_modules/x.js", "a") }, false},
		{"hidden files", func() { write(t, dir, ".git/index", "a"); write(t, dir, ".main.go.swp", "a") }, false},
		{"a file less", func() { os.Remove(filepath.Join(dir, "main.go")) }, true},
	} {
		c.do()
		now, err := Stamp(dir)
		if err != nil || (now != last) != c.changes {
			t.Errorf("%s: changed %v, want %v (%v)", c.what, now != last, c.changes, err)
		}
		last = now
	}
	if _, err := Stamp(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there")
	}
	write(t, dir, "x.wasm", "a module that is named is watched")
	before, _ := Stamp(filepath.Join(dir, "x.wasm"))
	write(t, dir, "x.wasm", "longer: a module that is named is watched")
	if after, _ := Stamp(filepath.Join(dir, "x.wasm")); after == before {
		t.Error("a module that is named is not watched")
	}
}

func TestCommandsAreAsOneWouldTypeThem(t *testing.T) {
	p := &plan{env: []string{"GOOS=wasip1"}, args: []string{"go", "build", "-ldflags=-s -w", "it's"}}
	if got, want := p.command(), `GOOS=wasip1 go build '-ldflags=-s -w' 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestMissingPartsAreNamed(t *testing.T) {
	for said, want := range map[string]string{
		"error[E0463]: can't find crate for `core`\n= note: the `wasm32-unknown-unknown` target may not be installed": "rustup target add",
		"sh: 1: asc: not found":                  "npm install",
		"make: clang: No such file or directory": "install clang",
		"main.c:3: error: expected ';'":          "",
	} {
		if got := missingPart(said); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q", said, got)
		}
	}
}
