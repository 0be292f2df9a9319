//go:build wasmtime

package plugins_test

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins/wasmtime"
)

// Runtime is the one that these tests run on: without the build tag wasmtime the other one.
type Runtime = wasmtime.Runtime

func newRuntime(t *testing.T) *Runtime {
	t.Helper()
	rt, err := wasmtime.New(wasmtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}
