package policies_test

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"github.com/sluice-dev/sluice/policies/internal/shipped"
	"github.com/sluice-dev/sluice/policies/wasmtest"
)

// maxModule keeps modules small enough to be kept beside their sources.
const maxModule = 2 << 20

// Every module is the one that its sources give, byte for byte where the same release of Go builds it.
func TestModulesAreCurrent(t *testing.T) {
	record, err := os.ReadFile("built.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range shipped.Names() {
		module := wasmtest.Shipped(t, name)
		if len(module) > maxModule {
			t.Errorf("%s has %d bytes", name, len(module))
		}
		if !bytes.Contains(record, []byte(runtime.Version()+"\n")) {
			continue // another release builds other bytes
		}
		if fresh := wasmtest.Build(t, "./policies/"+name); !bytes.Equal(fresh, module) {
			t.Errorf("%s is not what its sources give: %d bytes and %d", name, len(module), len(fresh))
		}
	}
}

// Sources that change make a module stale, and so does a module that was changed or is missing. Test files do not.
func TestStale(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"policies", "sdk/go"} {
		if err := os.CopyFS(root+"/"+dir, os.DirFS("../"+dir)); err != nil {
			t.Fatal(err)
		}
	}
	change := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(root+"/"+file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		what  string
		do    func()
		stale int
	}{
		{"nothing changed", func() {}, 0},
		{"a test changed", func() { change("policies/queue-age/policy_test.go", "package main") }, 0},
		{"a source of one changed", func() { change("policies/queue-age/queue.go", "package main") }, 1},
		{"a module is another", func() { change("policies/tpot-cap/tpot-cap.wasm", "\x00asm") }, 2},
		{"a module is missing", func() { os.Remove(root + "/policies/spec-off/spec-off.wasm") }, 3},
		{"the SDK changed", func() { change("sdk/go/new.go", "package sluice") }, 4},
	} {
		s.do()
		if stale, err := shipped.Stale(root); err != nil || len(stale) != s.stale {
			t.Errorf("%s: %q are stale (%v)", s.what, stale, err)
		}
	}
}
