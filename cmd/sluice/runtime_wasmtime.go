//go:build wasmtime && cgo

package main

import (
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/wasmtime"
)

const hasWasmtime = true

func newWasmtime(cacheDir string) (plugins.Runtime, error) {
	return wasmtime.New(wasmtime.Options{CacheDir: cacheDir})
}
