// Package guest builds the policies that the benchmarks ask: small ones in C, well-behaved and hostile.
package guest

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed c/*.c
var sources embed.FS

// Build compiles c/NAME.c with clang and the C SDK in sdkC, the path of sdk/c.
func Build(name, sdkC string) ([]byte, error) {
	text, err := sources.ReadFile("c/" + name + ".c")
	if err != nil {
		return nil, fmt.Errorf("read guest: %w", err)
	}
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".wasm")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil, fmt.Errorf("write guest: %w", err)
	}
	cmd := exec.Command("clang", "--target=wasm32", "-std=c11", "-O2", "-mbulk-memory", "-fwrapv", "-nostdlib", "-Wl,--no-entry,--strip-all", "-I"+sdkC, "-o", out, in)
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile guest %s (clang and wasm-ld are needed): %w: %s", name, err, said)
	}
	return os.ReadFile(out)
}
