// Package rust tests the Rust SDK as its users meet it: what cargo makes of it, and what the host makes of that. The SDK has no
// Go in it.
package rust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/policies"
	"github.com/sluice-dev/sluice/sdk/conformance"
)

// cargo runs it in this folder, offline, and skips the test when there is no Rust for it.
func cargo(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("cargo"); err != nil {
		t.Skip("cargo is not installed: run make setup for the tests in Rust")
	}
	cmd := exec.Command("cargo", args...)
	cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+target(t), "RUSTFLAGS=-D warnings", "CARGO_TERM_COLOR=never")
	out, err := cmd.CombinedOutput()
	switch said := string(out); {
	case err == nil:
	case strings.Contains(said, "target may not be installed"):
		t.Skip("Rust has no target wasm32-unknown-unknown here: run make setup for the tests in Rust")
	case strings.Contains(said, "no such command") || strings.Contains(said, "no such subcommand") || strings.Contains(said, "is not installed"):
		t.Skipf("cargo %s is not installed", args[0])
	default:
		t.Fatalf("cargo %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}

// target is where cargo builds: a folder that the tests of one run share.
func target(t *testing.T) string {
	t.Helper()
	if targetDir == "" {
		t.Fatal("TestMain made no folder")
	}
	return targetDir
}

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

func build(t *testing.T) {
	t.Helper()
	cargo(t, "build", "--offline", "--release", "--target", "wasm32-unknown-unknown", "--examples")
}

func module(t *testing.T, example string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(target(t), "wasm32-unknown-unknown", "release", "examples", example+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// The policies that ship decide the same when they are written in Rust.
func TestExamplesDecideAsThePoliciesThatShip(t *testing.T) {
	build(t)
	for _, m := range policies.Shipped() {
		t.Run(m.Name, func(t *testing.T) {
			conformance.Compare(t, m.Name, m.Wasm, module(t, strings.ReplaceAll(m.Name, "-", "_")))
		})
	}
}
