//go:build wasmtime

package wasmtime_test

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins/internal/runtimetest"
	"github.com/sluice-dev/sluice/plugins/wasmtime"
)

func open(t testing.TB, cacheDir string) runtimetest.Runtime {
	t.Helper()
	rt, err := wasmtime.New(wasmtime.Options{CacheDir: cacheDir})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestRuntime(t *testing.T) { runtimetest.Run(t, open) }

func FuzzHostCalls(f *testing.F) { runtimetest.FuzzHostCalls(f, open) }
