package c_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// What a new policy begins with builds, passes its own test, and is taken by the host.
func TestTemplate(t *testing.T) {
	sdk := run(t, "clang", "build/tpot-cap.wasm")
	project := filepath.Join(t.TempDir(), "mine")
	copyEach(t, filepath.Join(sdk, "template", "*.tmpl"), project)
	copyEach(t, filepath.Join(sdk, "*.h"), filepath.Join(project, "sluice-sdk"))
	build(t, project)
	build(t, project, "test")
	wasm, err := os.ReadFile(filepath.Join(project, "mine.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	testTaken(t, wasm)
}

// copyEach copies files into a folder, under the names that a new policy has them.
func copyEach(t *testing.T, pattern, to string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 4 {
		t.Fatalf("%s is %q: %v", pattern, files, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		named := strings.ReplaceAll(string(text), "__NAME__", "mine")
		if err := os.WriteFile(filepath.Join(to, strings.TrimSuffix(filepath.Base(f), ".tmpl")), []byte(named), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func testTaken(t *testing.T, wasm []byte) {
	t.Helper()
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	host := plugins.New(rt, plugins.Options{Inline: true})
	defer host.Close()
	if err := host.Push(context.Background(), "mine", wasm, map[string]string{"max_waiting": "8"}); err != nil {
		t.Fatal(err)
	}
	set, _, _ := host.Swap(1)
	out, by := make([]abi.Verdict, 2), make([]abi.PolicyID, 2)
	set.Admit(&abi.State{Size: abi.StateSize, WaitingRequests: 7}, make([]abi.Row, 2), out, by)
	if out[0].Action != uint8(abi.ActionAbstain) || out[1].Status != 429 {
		t.Errorf("one place is left for two: %+v", out)
	}
}
