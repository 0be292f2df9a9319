// Package rust tests the Rust SDK as its users meet it: what cargo makes of it, and what the host makes of that. The SDK has no
// Go in it.
package rust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/sdk/conformance"
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
	command, rustc := toolchain()
	if command == "" {
		conformance.Missing(t, "no Rust with the target wasm32-unknown-unknown is installed")
	}
	noteSources(t)
	cmd := exec.Command(command, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RUSTC="+rustc, "CARGO_TARGET_DIR="+targetDir, "RUSTFLAGS=-D warnings", "RUSTDOCFLAGS=-D warnings", "CARGO_TERM_COLOR=never")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	for _, missing := range []string{"no such command", "no such subcommand", "is not installed for the toolchain"} {
		if strings.Contains(string(out), missing) {
			t.Skipf("cargo %s: %s", args[0], missing)
		}
	}
	t.Fatalf("cargo %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
}

// toolchain is a cargo and its compiler that have the target: those on the path, else Debian's beside them.
func toolchain() (cargo, rustc string) {
	for _, dir := range []string{"", "/usr/bin"} {
		cargo, errC := exec.LookPath(filepath.Join(dir, "cargo"))
		rustc, errR := exec.LookPath(filepath.Join(dir, "rustc"))
		if errC != nil || errR != nil {
			continue
		}
		root, err := exec.Command(rustc, "--print", "sysroot").Output()
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(root)), "lib/rustlib/wasm32-unknown-unknown/lib")); err == nil {
			return cargo, rustc
		}
	}
	return "", ""
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
