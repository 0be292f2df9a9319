package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withRust is a place where only Rust's target is missing. Its sysroot is the folder that is returned.
func withRust(t *testing.T) (p *place, target string) {
	t.Helper()
	p = newPlace(t)
	for _, f := range []string{"llama.cpp-v0.5.0-linux-x64/libllama.so", "models/SmolLM2-135M-Instruct.Q4_1.gguf", "models/SmolLM2-135M-Instruct.IQ4_NL.gguf"} {
		p.file(f)
	}
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Skip("timeout is not installed")
	}
	if err := os.Symlink(timeout, filepath.Join(p.bin, "timeout")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.bin, "id")); err != nil {
		t.Fatal(err)
	}
	p.tool("id", "echo 0")
	p.tool("cargo", "")
	sysroot := t.TempDir()
	p.tool("rustc", "echo "+sysroot)
	return p, filepath.Join(sysroot, "lib/rustlib/wasm32-unknown-unknown/lib")
}

func TestRustsTargetComesFromRustupOrDebian(t *testing.T) {
	for _, c := range []struct{ name, rustup, apt, says string }{
		{"rustup", "mkdir -p TARGET", "exit 1", "with rustup"},
		{"Debian where there is no rustup", "", "mkdir -p TARGET", "Debian's Rust"},
		{"Debian where rustup has no network", "exit 1", "mkdir -p TARGET", "rustup could not add it"},
	} {
		p, target := withRust(t)
		if c.rustup != "" {
			p.tool("rustup", strings.ReplaceAll(c.rustup, "TARGET", target))
		}
		p.tool("apt-get", strings.ReplaceAll(c.apt, "TARGET", target))
		if code, out := p.run("--with-rust"); code != 0 || !strings.Contains(out, c.says) || strings.Contains(out, "skipped") {
			t.Errorf("%s: exit %d: %s", c.name, code, out)
		}
		if code, out := p.run("--with-rust"); code != 0 || out != "" {
			t.Errorf("%s, again: exit %d: %s", c.name, code, out)
		}
	}
}

func TestWithoutRustTheRestIsSetUp(t *testing.T) {
	p, _ := withRust(t)
	if code, out := p.run("--with-rust"); code != 0 || !strings.Contains(out, "the tests in Rust will be skipped") || !strings.Contains(out, "rustup target add") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := p.run(); code != 0 || out != "" {
		t.Errorf("where nobody asked for it: exit %d: %s", code, out)
	}
}
