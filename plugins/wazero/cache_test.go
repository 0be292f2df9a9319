package wazero_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// cached lists the files of compiled code.
func cached(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// scramble flips the bits in the middle of a file.
func scramble(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for k := len(b) / 2; k < len(b)/2+16 && k < len(b); k++ {
		b[k] ^= 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
