// Package casestest runs the cases of the policies that ship on modules of them, whatever those are written in. It is for
// tests.
//
//	casestest.Shipped(t, "queue-age", wasm)
package casestest

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// Shipped runs the cases of the policy that ships under that name on a module.
func Shipped(t *testing.T, name string, wasm []byte) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(here), "../../../../../policies", name, "cases")
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no cases (%v)", name, err)
	}
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	box := sandbox.Open(rt)
	t.Cleanup(box.Close)
	for _, file := range files {
		runFile(t, box, name, wasm, file)
	}
}

func runFile(t *testing.T, box *sandbox.Box, name string, wasm []byte, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := cases.Decode(filepath.Base(file), text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		failures, err := cases.Run(context.Background(), box, name, wasm, &all[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range failures {
			t.Errorf("%s: %s: %v", name, all[i].Name, &f)
		}
	}
}
