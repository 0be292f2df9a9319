// Package rust tests the Rust SDK as its users meet it: what cargo makes of it, and what the host makes of that. The SDK has no
// Go in it.
package rust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// targetDir is where cargo builds: a folder that the tests of one run share.
var targetDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rust")
	if err != nil {
		panic(err)
	}
	targetDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// cargo runs it in a folder, offline and with warnings as errors, and skips the test when there is no Rust for it.
func cargo(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("cargo"); err != nil {
		t.Skip("cargo is not installed; make setup says what the tests in Rust need")
	}
	noteSources(t)
	cmd := exec.Command("cargo", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+targetDir, "RUSTFLAGS=-D warnings", "RUSTDOCFLAGS=-D warnings", "CARGO_TERM_COLOR=never")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	for _, missing := range []string{"target may not be installed", "no such command", "no such subcommand", "is not installed for the toolchain"} {
		if strings.Contains(string(out), missing) {
			t.Skipf("cargo %s: %s; make setup says what the tests in Rust need", args[0], missing)
		}
	}
	t.Fatalf("cargo %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
}

// noteSources has `go test` note what cargo reads: files that it did not see the test open may change without its running the
// test again.
func noteSources(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"*.toml", "src/*", "examples/*", "tests/*", "../vectors/*", "template/*", "template/*/*", "testdata/*/*", "testdata/*/*/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				if _, err := os.ReadFile(f); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// modules builds the examples of a crate for the sandbox, and returns what reads one of them.
func modules(t *testing.T, dir string, more ...string) func(*testing.T, string) []byte {
	t.Helper()
	cargo(t, dir, append([]string{"build", "--offline", "--release", "--target", "wasm32-unknown-unknown", "--examples"}, more...)...)
	return func(t *testing.T, example string) []byte {
		t.Helper()
		wasm, err := os.ReadFile(filepath.Join(targetDir, "wasm32-unknown-unknown", "release", "examples", example+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		return wasm
	}
}

// The SDK's own tests, natively: the vectors that all SDKs share, and what its documentation shows.
func TestNative(t *testing.T) {
	cargo(t, ".", "test", "--offline", "--quiet")
}

func TestFormatted(t *testing.T) {
	cargo(t, ".", "fmt", "--check")
	cargo(t, guests, "fmt", "--check")
}

func TestLinted(t *testing.T) {
	cargo(t, ".", "clippy", "--offline", "--quiet", "--all-targets")
	cargo(t, guests, "clippy", "--offline", "--quiet", "--release", "--target", "wasm32-unknown-unknown", "--examples", "--features", "std")
}

func TestDocumented(t *testing.T) {
	cargo(t, ".", "doc", "--offline", "--quiet", "--no-deps")
}
