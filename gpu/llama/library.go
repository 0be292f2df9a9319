package llama

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
	capi "github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/loader"
	"github.com/jupiterrider/ffi"
	"golang.org/x/sys/unix"
)

// wantVersion is the llama.cpp release whose structures the bindings lay out. Another release would read and write
// the wrong fields without any error.
const wantVersion = "0.5.0"

// lib is the one set of libraries of this process. The bindings keep their function table in package variables, so
// there cannot be two.
var lib struct {
	mu      sync.Mutex
	dir     string // "" until loaded
	version string // as the library names itself
	fn      functions
}

// functions are those that the bindings lack, or offer in a form that is slower or less safe.
type functions struct {
	tokenize ffi.Fun
	setAbort ffi.Fun
	calloc   ffi.Fun
	free     ffi.Fun
	strlen   uintptr
}

// LoadLibrary opens the llama.cpp libraries in dir; Open does it by itself. A second call with the same folder does
// nothing, one with another folder is an error. log gets llama.cpp's own lines at debug level; nil leaves it as it is.
// It may be called from any goroutine.
func LoadLibrary(dir string, log *slog.Logger) error {
	lib.mu.Lock()
	defer lib.mu.Unlock()
	sink.setLogger(log)
	dir, err := libraryFolder(dir)
	if err != nil {
		return err
	}
	if lib.dir == dir {
		return nil
	}
	if lib.dir != "" {
		return usagef("the llama.cpp libraries in %s are in use; a process cannot use those in %s as well", lib.dir, dir)
	}
	if err := loadInto(&lib.fn, dir); err != nil {
		return err
	}
	lib.dir = dir
	return nil
}

// libraryFolder resolves dir and checks that the libraries are in it under the names that the loader wants.
func libraryFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usagef("library folder %q: %w", dir, err)
	}
	for _, short := range []string{"ggml-base", "ggml", "llama"} {
		name := filepath.Base(loader.GetLibraryFilename(abs, short))
		if _, err := os.Stat(filepath.Join(abs, name)); err == nil {
			continue
		}
		stem, ext := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
		if versioned, _ := filepath.Glob(filepath.Join(abs, stem+".*"+ext)); len(versioned) > 0 {
			return "", usagef("no %s in %s: link it to %s there", name, abs, filepath.Base(versioned[0]))
		}
		return "", usagef("no %s in %s: run make setup (make setup-cuda for NVIDIA's GPUs), or name a folder of llama.cpp v%s libraries with --llama-lib", name, abs, wantVersion)
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	return abs, nil
}

func loadInto(fn *functions, dir string) error {
	if err := loadLibc(fn); err != nil {
		return fmt.Errorf("load the C library: %w", err)
	}
	l, err := loader.LoadLibrary(dir, "llama")
	if err != nil {
		return usagef("open the llama.cpp libraries in %s: %w", dir, err)
	}
	version, err := checkVersion(l, dir)
	if err != nil {
		return err
	}
	if err := fn.prepare(l); err != nil {
		return usagef("open the llama.cpp libraries in %s: %w", dir, err)
	}
	if err := capi.Load(dir); err != nil {
		return usagef("open the llama.cpp libraries in %s: %w", dir, err)
	}
	lib.version = version
	capi.LogSet(sink.callback())
	capi.Init()
	if capi.GGMLBackendDeviceCount() == 0 {
		return usagef("the llama.cpp libraries in %s offer no device at all: libggml-cpu-*.so are missing or do not fit this CPU", dir)
	}
	return nil
}

func checkVersion(l loader.Lib, dir string) (string, error) {
	version, err := l.Prep("llama_version", &ffi.TypePointer)
	if err != nil {
		return "", usagef("the libraries in %s are not llama.cpp v%s: %w", dir, wantVersion, err)
	}
	var text *byte
	version.Call(&text)
	got := unix.BytePtrToString(text)
	if got != wantVersion && !strings.HasPrefix(got, wantVersion+"-") {
		return "", usagef("the libraries in %s are llama.cpp %s; this program works with v%s only", dir, got, wantVersion)
	}
	return got, nil
}

func (fn *functions) prepare(l loader.Lib) (err error) {
	if fn.tokenize, err = l.Prep("llama_tokenize", &ffi.TypeSint32, &ffi.TypePointer, &ffi.TypePointer, &ffi.TypeSint32,
		&ffi.TypePointer, &ffi.TypeSint32, &ffi.TypeUint8, &ffi.TypeUint8); err != nil {
		return err
	}
	fn.setAbort, err = l.Prep("llama_set_abort_callback", &ffi.TypeVoid, &ffi.TypePointer, &ffi.TypePointer, &ffi.TypePointer)
	return err
}

// loadLibc binds what is used of the C library, and tells ggml, through the C environment, not to start a debugger
// when it ends the process.
func loadLibc(fn *functions) error {
	c := ffi.Lib{Addr: purego.RTLD_DEFAULT}
	setenv, err := c.Prep("setenv", &ffi.TypeSint32, &ffi.TypePointer, &ffi.TypePointer, &ffi.TypeSint32)
	if err != nil {
		return err
	}
	size := &ffi.TypeUint64
	if fn.calloc, err = c.Prep("calloc", &ffi.TypePointer, size, size); err != nil {
		return err
	}
	if fn.free, err = c.Prep("free", &ffi.TypeVoid, &ffi.TypePointer); err != nil {
		return err
	}
	if fn.strlen, err = c.Get("strlen"); err != nil {
		return err
	}
	name, value, overwrite := &[]byte("GGML_NO_BACKTRACE\x00")[0], &[]byte("1\x00")[0], int32(0)
	var rc ffi.Arg
	setenv.Call(&rc, &name, &value, &overwrite)
	runtime.KeepAlive(name)
	return nil
}
