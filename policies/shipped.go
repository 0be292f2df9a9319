// Package policies holds the policies that ship, each in a folder of its own with its source, and their modules as they
// were built into this binary. They are ordinary policies: nothing in them is known to the host.
//
//	modules, err := policies.Shipped()
package policies

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// The folders are embedded whole rather than by *.wasm, which must be built first: without them a build has no shipped
// policies but is a build.
//
//go:embed queue-age class-priority tpot-cap spec-off
var folders embed.FS

// order is the chain in which they are asked.
var order = []string{"queue-age", "class-priority", "tpot-cap", "spec-off"}

// ErrNotBuilt says that the binary was built before the policies were.
var ErrNotBuilt = errors.New("the shipped policies are not in this binary: run `make policies` and build it again, or start with --no-policies")

// Module is one policy.
type Module struct {
	Name string
	Wasm []byte
}

// Shipped returns the policies in the order of the chain.
func Shipped() ([]Module, error) {
	var all []Module
	for _, name := range order {
		wasm, err := folders.ReadFile(name + "/" + name + ".wasm")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNotBuilt
		}
		if err != nil {
			return nil, fmt.Errorf("read shipped policy %s: %w", name, err)
		}
		all = append(all, Module{name, wasm})
	}
	return all, nil
}
