package cases_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
)

// The cases of the policies that ship hold for the modules that ship.
func TestShippedPolicies(t *testing.T) {
	rt, err := wazero.New(wazero.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	box := sandbox.Open(rt)
	t.Cleanup(box.Close)
	for _, m := range policies.Shipped() {
		files, err := filepath.Glob(filepath.Join("../../../../policies", m.Name, "cases", "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no cases (%v)", m.Name, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all, err := cases.Decode(file, text)
			if err != nil {
				t.Fatal(err)
			}
			for i := range all {
				failures, err := cases.Run(context.Background(), box, m.Name, m.Wasm, &all[i])
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range failures {
					t.Errorf("%s: %v", all[i].Name, &f)
				}
			}
		}
	}
}
