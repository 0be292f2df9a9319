//go:build wasmtime

package wasmtime_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/wasmtime"
)

func kept(t testing.TB, dir string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) != 1 {
		t.Fatalf("the cache holds %q, %v; want one file", found, err)
	}
	return found[0]
}

// FuzzCacheFile: whatever stands in the file of a module, the module is compiled.
func FuzzCacheFile(f *testing.F) {
	dir := f.TempDir()
	code := metered(f, guesttest.Admitter(1))
	use := func(t testing.TB) {
		rt := open(t, dir)
		defer rt.Close()
		if err := compile(t, rt, code).Close(); err != nil {
			t.Error(err)
		}
	}
	use(f)
	file := kept(f, dir)
	whole, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(whole[32:])
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		use(t)
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	})
}

func TestAFolderThatOthersCanWriteIsNoCache(t *testing.T) {
	dir := t.TempDir()
	open(t, dir).Close()
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("it made %q, %v", made, err)
	}
	if err := os.Chmod(made[0], 0o770); err != nil {
		t.Fatal(err)
	}
	if rt, err := wasmtime.New(wasmtime.Options{CacheDir: dir}); err == nil || !strings.Contains(err.Error(), "chmod 0700") {
		t.Errorf("it opened %v, %v", rt, err)
	}
	if err := os.Remove(made[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(made[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wasmtime.New(wasmtime.Options{CacheDir: dir}); err == nil {
		t.Error("it took a file for its folder")
	}
}
