package runtimetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

func compiledCodeIsKeptOnDiskAndABrokenCacheIsNoObstacle(t *testing.T, with Maker) {
	dir := t.TempDir()
	wasm := guesttest.Admitter(1)
	use := func() {
		t.Helper()
		i, _ := start(t, open(t, with, dir), wasm)
		if _, err := call(i); err != nil {
			t.Fatal(err)
		}
	}
	use()
	files := cached(t, dir)
	if len(files) == 0 {
		t.Fatal("nothing was kept")
	}
	use()
	for _, f := range files {
		scramble(t, f)
	}
	use()
}

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
