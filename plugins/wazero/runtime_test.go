package wazero_test

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins/internal/runtimetest"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

func open(t testing.TB, cacheDir string) runtimetest.Runtime {
	t.Helper()
	rt, err := wazero.New(wazero.Options{CacheDir: cacheDir})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestRuntime(t *testing.T) { runtimetest.Run(t, open) }

func FuzzHostCalls(f *testing.F) { runtimetest.FuzzHostCalls(f, open) }
