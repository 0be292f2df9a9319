package policies_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// block is a part of docs/policies.md that is run: a file, or commands.
type block struct {
	file string // "" for commands
	text string
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+) ?([a-z_./]*)\n(.*?)^```$")

func readPage(t *testing.T) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile("../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if (m[1] == "sh") != (m[2] == "") {
			t.Fatalf("a block is neither a file with a name nor commands: %s %s", m[1], m[2])
		}
		blocks = append(blocks, block{m[2], m[3]})
	}
	return blocks
}

// workplace is a folder with sluice in the PATH, a server to push to, and what the page uses of the clone.
type workplace struct {
	dir string
	env []string
}

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	bin := t.TempDir()
	sluice := filepath.Join(bin, "sluice")
	if out, err := exec.Command("go", "build", "-o", sluice, "../cmd/sluice").CombinedOutput(); err != nil {
		t.Fatalf("build sluice: %v\n%s", err, out)
	}
	w := &workplace{dir: t.TempDir()}
	if err := os.CopyFS(filepath.Join(w.dir, "examples", "traces"), os.DirFS("../examples/traces")); err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "GOPROXY=off", "SLUICE_CACHE="+t.TempDir())
	w.env = append(w.env, "SLUICE_ADMIN="+w.serve(t, sluice))
	return w
}

// serve starts a server on a simulated device, and returns the address of its admin API.
func (w *workplace) serve(t *testing.T, sluice string) string {
	t.Helper()
	cmd := exec.Command(sluice, "serve", "--device", "sim:cpu-smollm2", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", t.TempDir())
	cmd.Env = w.env
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if admin, ok := strings.CutPrefix(lines.Text(), "admin "); ok {
			return admin
		}
	}
	cmd.Wait()
	t.Fatalf("the server ended before it served:\n%s", log.String())
	return ""
}

// do runs one line of the page, which must not fail, and returns what it prints.
func (w *workplace) do(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// A reader who types what the page for policy authors says gets a policy that is tested, built, taken and right, and that a
// server obeys until it is rolled back.
func TestThePageForAuthors(t *testing.T) {
	w := newWorkplace(t)
	said := map[string]string{}
	for _, b := range readPage(t) {
		if b.file != "" {
			file := filepath.Join(w.dir, b.file)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("the page changes %s, which is not there yet: %v", b.file, err)
			}
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for line := range strings.Lines(b.text) {
			line = strings.TrimSpace(line)
			said[line] = w.do(t, line)
		}
	}
	for line, want := range map[string]string{
		"sluice policy new mine":                                           "mine/main.go",
		"sluice policy build mine":                                         "ok: a server takes it",
		"go test -C mine .":                                                "ok ",
		"sluice policy test mine":                                          "3 cases, 0 failed",
		"sluice policy check mine/mine.wasm full=80%":                      "ok: a server takes it",
		"sluice policy bench mine/mine.wasm":                               "admit  10000",
		"sluice policy push mine/mine.wasm --dry-run":                      "admit",
		"sluice policy shadow mine/mine.wasm --set full=80%":               "mine",
		"sluice policy ls":                                                 "mine ",
		"sluice policy rollback mine":                                      "mine@",
		"sluice policy push mine/mine.wasm --set full=70% --set retry=10s": "pushed mine@",
	} {
		if got, ok := said[line]; !ok || !strings.Contains(got, want) {
			t.Errorf("%s says %q (on the page: %v); want %q", line, got, ok, want)
		}
	}
	if list := w.do(t, "sluice policy ls --json"); !strings.Contains(list, `"full": "80%"`) {
		t.Errorf("what was promoted is not in force again: %s", list)
	}
	if out := w.do(t, "gofmt -l mine/main.go mine/main_test.go"); out != "" {
		t.Errorf("not formatted: %s", out)
	}
	w.do(t, "go vet -C mine .")
	theModuleIsRight(t, filepath.Join(w.dir, "mine", "mine.wasm"))
}

func theModuleIsRight(t *testing.T, file string) {
	t.Helper()
	module, err := os.ReadFile(file)
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
