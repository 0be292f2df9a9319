//go:build wasmtime

package wasmtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
)

// cache keeps compiled code in a folder that belongs to this user alone. What is in a file will run in this process, so
// that nobody else may have written it; its own digest, ahead of the code, is against disks and half-written files.
type cache struct {
	root *os.Root // nil for no cache
	made atomic.Int64
}

// cacheFormat changes when the engine's settings or the file's layout do. wasmtime itself refuses code of another version
// of itself, or for another processor.
const cacheFormat = "wasmtime-39-1"

func openCache(dir string) (*cache, error) {
	if dir == "" {
		return &cache{}, nil
	}
	dir = filepath.Join(dir, cacheFormat)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := private(root); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), root.Close())
	}
	return &cache{root: root}, nil
}

// private checks the folder that was opened, which may be another by now than the one of its name.
func private(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return errors.New("it must belong to this user, and be open to nobody else (chmod 0700)")
	}
	return nil
}

// load returns the native code that was made of code; false when there is none that is whole.
func (c *cache) load(code []byte) (native []byte, ok bool) {
	if c.root == nil {
		return nil, false
	}
	file, err := c.root.ReadFile(nameOf(code))
	if err != nil || len(file) < sha256.Size {
		return nil, false
	}
	want, native := file[:sha256.Size], file[sha256.Size:]
	sum := sha256.Sum256(native)
	return native, bytes.Equal(want, sum[:])
}

// store keeps native code. There must be a cache. When it cannot, the next start compiles again.
func (c *cache) store(code, native []byte) {
	sum := sha256.Sum256(native)
	part := "part-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(c.made.Add(1), 10)
	err := c.root.WriteFile(part, append(sum[:], native...), 0o600)
	if err == nil {
		err = c.root.Rename(part, nameOf(code))
	}
	if err != nil {
		_ = c.root.Remove(part)
	}
}

func (c *cache) close() error {
	if c.root == nil {
		return nil
	}
	return c.root.Close()
}

func nameOf(code []byte) string {
	sum := sha256.Sum256(code)
	return hex.EncodeToString(sum[:])
}
