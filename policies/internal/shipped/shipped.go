// Package shipped knows the policies that ship: how they are built, and whether the built modules are those of the sources.
//
// A module's bytes depend on the Go release as well as on the sources. policies/built.txt therefore records the digest of the
// sources that each committed module was built from, so that another release of Go neither rebuilds nor changes anything
// by itself.
//
// It is for the build and the tests. The server loads policies from files that it is given.
package shipped

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Names lists the policies that ship.
func Names() []string { return []string{"queue-age", "class-priority", "tpot-cap", "spec-off"} }

// Module is the path of a built policy below the repository's root.
func Module(root, name string) string { return filepath.Join(root, "policies", name, name+".wasm") }

// Root finds the repository that the working directory is in.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository: no go.mod in %s or above", start)
		}
	}
}

// record is what is known of one built module.
type record struct{ name, sources, module, toolchain string }

// current describes a policy as it is on disk.
func current(root, name string) (record, error) {
	r := record{name: name, toolchain: runtime.Version()}
	h := sha256.New()
	fmt.Fprintln(h, Flags())
	for _, dir := range []string{"sdk/go", "policies/" + name} {
		if err := hashSources(h, root, dir); err != nil {
			return r, fmt.Errorf("hash the sources of %s: %w", name, err)
		}
	}
	r.sources = hex.EncodeToString(h.Sum(nil))
	wasm, err := os.ReadFile(Module(root, name))
	switch {
	case os.IsNotExist(err):
		r.module = "missing"
	case err != nil:
		return r, fmt.Errorf("hash the module of %s: %w", name, err)
	default:
		r.module = fmt.Sprintf("%x", sha256.Sum256(wasm))
	}
	return r, nil
}

// hashSources adds the files of one package that end up in a module.
func hashSources(h io.Writer, root, dir string) error {
	files, err := os.ReadDir(filepath.Join(root, dir)) // sorted by name
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, dir, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s/%s %x\n", dir, f.Name(), sha256.Sum256(text))
	}
	return nil
}
