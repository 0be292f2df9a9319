package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Watching runs the cases at once, again when a file changes and when a mistake in it is mended, and ends well with an
// interrupt.
func TestWatchRunsAgainAfterEveryChange(t *testing.T) {
	module, err := os.ReadFile("../../policies/spec-off/spec-off.wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(file string, text []byte) {
		t.Helper()
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("spec-off.wasm", module)
	const small = "{name: small, hook: speculate, state: {running: 1}, rows: [{}], expect: {k: 15}}"
	write("cases/a.yaml", []byte(small))

	path, err := exec.LookPath("sluice")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only ever reached when it does not say what it should
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "policy", "test", "--watch", "spec-off.wasm")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "SLUICE_CACHE="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	says := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("it ended without saying %q", part)
	}
	says("1 cases, 0 failed")
	write("cases/a.yaml", []byte(strings.Replace(small, "k: 15", "k: 3", 1)))
	says("want 3, got 15")
	says("1 cases, 1 failed")
	write("cases/b.yaml", []byte("{name: broken, hok: speculate}"))
	says(`unknown key "hok"`)
	write("cases/b.yaml", []byte("{name: large, hook: speculate, state: {running: 9}, rows: [{}], expect: {k: 0}}"))
	says("2 cases, 1 failed")
	write("cases/a.yaml", []byte(small))
	says("2 cases, 0 failed")
	cmd.Process.Signal(syscall.SIGINT)
	for lines.Scan() { // to its end: Wait must not close the pipe under what is still written
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit after an interrupt: %v", err)
	}
}
