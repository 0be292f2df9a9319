//go:build wasmtime

package plugins_test

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins/wasmtime"
)

// Runtime is the one that these tests run on: without the build tag wasmtime the other one.
type Runtime = wasmtime.Runtime

// keptStacks is what the stacks of a policy's instance in use and its spare may keep resident, in bytes.
const keptStacks = 2 * 64 << 20

func newRuntime(t *testing.T) *Runtime {
	t.Helper()
	rt, err := wasmtime.New(wasmtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}
