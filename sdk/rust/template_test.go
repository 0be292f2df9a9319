package rust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/project"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// What `sluice policy new --lang rust` makes is formatted, passes its tests, and is a policy.
func TestANewPolicyDecides(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my-gate")
	if _, err := project.New("rust", "my-gate", dir); err != nil {
		t.Fatal(err)
	}
	cargo(t, dir, "test", "--offline", "--quiet")
	cargo(t, dir, "build", "--release", "--offline", "--target", "wasm32-unknown-unknown")
	wasm, err := os.ReadFile(filepath.Join(targetDir, "wasm32-unknown-unknown", "release", "my_gate.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if len(wasm) > maxModule {
		t.Errorf("%d bytes, more than %d", len(wasm), maxModule)
	}
	var said strings.Builder
	set, _, _ := load(t, &said, wasm).Swap(1)
	out, by := make([]abi.Verdict, 2), make([]abi.PolicyID, 2)
	set.Admit(&abi.State{Size: abi.StateSize, WaitingRequests: 31}, make([]abi.Row, 2), out, by)
	if out[0].Action != uint8(abi.ActionAbstain) || out[1].Status != 429 || said.Len() > 0 {
		t.Errorf("the 32nd and the 33rd request: %+v %s", out, said.String())
	}
	t.Run("formatted", func(t *testing.T) { cargo(t, dir, "fmt", "--check") })
	t.Run("linted", func(t *testing.T) { cargo(t, dir, "clippy", "--offline", "--quiet", "--all-targets") })
}
