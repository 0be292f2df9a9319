//go:build !wasmtime

package plugins_test

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins/wazero"
)

// Runtime is the one that these tests run on: with the build tag wasmtime the other one.
type Runtime = wazero.Runtime

// keptStacks is what the stacks of a policy's instances may keep resident, in bytes: they are on Go's heap.
const keptStacks = 0

func newRuntime(t *testing.T) *Runtime {
	t.Helper()
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}
