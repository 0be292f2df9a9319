package policies_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// page is docs/policies.md: its files by name, and the lines of its shell blocks.
type page struct {
	files    map[string]string
	commands []string
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+) ?([a-z_.]*)\n(.*?)^```$")

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile("../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	p := page{files: map[string]string{}}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		switch lang, name, body := m[1], m[2], m[3]; {
		case lang == "go" && name != "":
			p.files[name] = body
		case lang == "sh" && name == "":
			p.commands = append(p.commands, strings.Split(strings.TrimSpace(body), "\n")...)
		default:
			t.Fatalf("a block is neither a Go file with a name nor commands: %s %s", lang, name)
		}
	}
	return p
}

// clone is the part of this repository that a policy needs, with the page's files in examples/mine.
func (p page) clone(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	write := func(file string, text []byte) {
		t.Helper()
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		write(file, text)
	}
	if err := os.CopyFS(filepath.Join(root, "sdk", "go"), os.DirFS("../sdk/go")); err != nil {
		t.Fatal(err)
	}
	for name, body := range p.files {
		write(filepath.Join("examples", "mine", name), []byte(body))
	}
	return root
}

// A reader who types what the page for policy authors says gets a policy that is tested, built, taken and right.
func TestThePageForAuthors(t *testing.T) {
	p := readPage(t)
	root, ran := p.clone(t), 0
	for _, line := range append([]string{"test -z \"$(gofmt -l examples)\"", "go vet ./examples/mine"}, p.commands...) {
		if strings.HasPrefix(line, "sluice ") {
			continue // the server's own tests push and replay
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		ran++
	}
	if ran != 4 || len(p.files) != 2 {
		t.Fatalf("%d commands and %d files on the page", ran, len(p.files))
	}
	module, err := os.ReadFile(filepath.Join(root, "mine.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	host := load(t, plugins.Policy{Name: "mine", Wasm: module, Config: map[string]string{"full": "80%"}})
	set, _, _ := host.Swap(1)
	st := abi.State{Size: abi.StateSize, BlocksTotal: 100, BlocksFree: 10}
	verdicts, by := make([]abi.Verdict, 2), make([]abi.PolicyID, 2)
	set.Admit(&st, []abi.Row{{Class: 0}, {Class: 1}}, verdicts, by)
	if verdicts[0].Action != uint8(abi.ActionAbstain) || verdicts[1].Status != 529 || verdicts[1].RetryAfterMs != 5000 {
		t.Errorf("the module decides %+v", verdicts)
	}
}
