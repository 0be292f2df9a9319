//go:build !wasmtime || !cgo

package main

import (
	"errors"

	"github.com/sluice-dev/sluice/plugins"
)

const hasWasmtime = false

func newWasmtime(string) (plugins.Runtime, error) {
	return nil, errors.New("this binary was built without wasmtime: build with -tags wasmtime")
}
