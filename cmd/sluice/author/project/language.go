package project

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/sdk"
)

// Language is a language that policies are written in.
type Language struct {
	Name    string // as in --lang
	Title   string
	sdk     string   // its folder in package sdk
	marks   []string // files, any of which says that a folder is in this language; patterns
	named   naming   // where the policy's name stands
	tool    string   // the program that builds
	install string   // what to do when there is none
	build   func(p *plan)
	setup   string                              // the command that a new folder needs once before it builds; "" = none
	tidy    func(name string) map[string]string // further files of a new project's SDK
}

// naming is a file, and a pattern whose only group is the policy's name in it.
type naming struct{ file, pattern string }

var languages = []*Language{
	{
		Name: "go", Title: "Go", sdk: "go", marks: []string{"go.mod"}, named: naming{"go.mod", `(?m)^module\s+(?:\S*/)?(\S+)`},
		tool: "go", install: "install Go 1.26 or later from https://go.dev/dl",
		build: goBuild, tidy: goModule,
	},
	{
		Name: "rust", Title: "Rust", sdk: "rust", marks: []string{"Cargo.toml"}, named: naming{"Cargo.toml", `(?m)^name\s*=\s*"(.+)"`},
		tool:    "cargo",
		install: "install Rust with rustup, then run rustup target add wasm32-unknown-unknown", build: rustBuild,
		tidy: rustManifest,
	},
	{
		Name: "as", Title: "AssemblyScript", sdk: "assemblyscript", marks: []string{"assembly/*.ts"}, named: naming{"package.json", `(?m)^\s*"name"\s*:\s*"(?:.*/)?(.+)"`},
		tool:    "npm",
		install: "install Node.js 20 or later from https://nodejs.org, then run npm install here", build: npmBuild,
		setup: "npm install",
	},
	{
		Name: "c", Title: "C", sdk: "c", marks: []string{"*.c"}, named: naming{"Makefile", `(?m)^(\S+)\.wasm\s*:`},
		tool:    "make",
		install: "install make, clang and lld (Debian: apt install make clang lld)", build: makeBuild,
	},
}

// Setup is the command that a new folder in a language needs once, before it can be built; "" = none.
func Setup(lang string) string {
	l, err := find(lang)
	if err != nil {
		return ""
	}
	return l.setup
}

// Names lists the languages that a policy can be begun in: those whose SDK is in this binary.
func Names() []string {
	var names []string
	for _, l := range languages {
		if _, err := fs.Stat(sdk.Files, l.template()); err == nil {
			names = append(names, l.Name)
		}
	}
	return names
}

func (l *Language) template() string { return path.Join(l.sdk, "template") }

// find is the language of that name, among those of Names.
func find(name string) (*Language, error) {
	i := slices.IndexFunc(languages, func(l *Language) bool { return l.Name == name })
	if i < 0 || !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("there is no SDK for the language %q: use %s", name, strings.Join(Names(), ", "))
	}
	return languages[i], nil
}

// Detect says which language the folder dir is in, by its files.
func Detect(dir string) (*Language, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("look for a policy: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("look for a policy: %s is a file; name the folder that it is in", dir)
	}
	for _, l := range languages {
		if slices.ContainsFunc(l.marks, func(mark string) bool { return matches(dir, mark) }) {
			return l, nil
		}
	}
	return nil, fmt.Errorf("look for a policy: %s has neither go.mod, Cargo.toml, assembly/*.ts nor a .c file; sluice policy new begins one", dir)
}

func matches(dir, pattern string) bool {
	found, err := filepath.Glob(filepath.Join(escape(dir), pattern))
	return err == nil && len(found) > 0
}

// name is the policy's name as its folder says it, else the folder's.
func (l *Language) name(dir string) string {
	if text, err := os.ReadFile(filepath.Join(dir, l.named.file)); err == nil {
		if m := regexp.MustCompile(l.named.pattern).FindSubmatch(text); m != nil && !strings.ContainsAny(string(m[1]), `/\`) {
			return string(m[1])
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return filepath.Base(abs)
}

// escape keeps a folder's name from being read as a pattern.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

var nameless = []string{"native", "test", "main", "core", "std", "alloc", "src", "sluice"}

// checkName says whether a name can be a policy's in every language: a module's, a crate's, a package's and a file's.
func checkName(name string) error {
	ok := name != "" && len(name) <= 40 && name[0] >= 'a' && name[0] <= 'z' && !strings.HasSuffix(name, "-")
	for _, c := range name {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	switch {
	case !ok:
		return fmt.Errorf("name %q: use 1 to 40 lower-case letters, digits and dashes, with a letter first", name)
	case slices.Contains(nameless, name):
		return fmt.Errorf("name %q means something else already: choose another", name)
	}
	return nil
}
