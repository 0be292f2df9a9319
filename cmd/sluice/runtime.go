package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

const (
	policyRuntimeFlag  = "policy-runtime"
	policyRuntimeUsage = "what runs the policies: wazero, or wasmtime in a binary that was built with -tags wasmtime (default wazero)"
)

// newRuntime runs policies. Compiled code is kept in the cache folder, for this user alone: whoever can write there can
// run code in this process. Without a cache each start compiles anew.
func newRuntime(name string, log *slog.Logger) (plugins.Runtime, error) {
	start, ok := map[string]func(cacheDir string) (plugins.Runtime, error){
		config.RuntimeWazero: func(dir string) (plugins.Runtime, error) {
			return wazero.New(wazero.Options{CacheDir: dir})
		},
		config.RuntimeWasmtime: newWasmtime,
	}[name]
	if !ok {
		return nil, usageErrorf("--%s must be %s or %s, but is %q", policyRuntimeFlag, config.RuntimeWazero, config.RuntimeWasmtime, name)
	}
	dir, err := llama.CacheDir()
	if err == nil {
		dir = filepath.Join(dir, "policies")
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		log.Warn("compiled policies are not kept: loading them takes longer", "error", err)
		dir = ""
	}
	rt, err := start(dir)
	if err != nil {
		return nil, fmt.Errorf("start the WebAssembly runtime: %w", err)
	}
	return rt, nil
}
