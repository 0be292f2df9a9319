package wazero

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/hostcalls"
)

// Options configure a Runtime.
type Options struct {
	// CacheDir keeps compiled code between runs, by the digest of what was compiled. Whoever can write there can run code
	// in this process. "" keeps none.
	CacheDir string
}

// Runtime implements plugins.Runtime.
type Runtime struct {
	check wazero.Runtime // an interpreter: its compilation is validation and little else
	run   wazero.Runtime
	cache wazero.CompilationCache // nil for none
	dir   string                  // of the cache

	modules, instances atomic.Int64
}

// features is WebAssembly 2.0: what the toolchains emit by default, and what meter meters.
const features = api.CoreFeaturesV2

// New returns a runtime.
func New(opt Options) (*Runtime, error) {
	ctx := context.Background()
	r := &Runtime{}
	cfg := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features).WithMemoryCapacityFromMax(true)
	if opt.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(opt.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("open the cache of compiled policies: %w", err)
		}
		r.dir, r.cache, cfg = opt.CacheDir, cache, cfg.WithCompilationCache(cache)
	}
	r.check = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	r.run = wazero.NewRuntimeWithConfig(ctx, cfg)
	if err := defineHost(ctx, r.run); err != nil {
		return nil, errors.Join(fmt.Errorf("define the functions of the host: %w", err), r.Close())
	}
	return r, nil
}

// Live counts the modules that are not closed, and the instances whose memory is not freed.
func (r *Runtime) Live() (modules, instances int64) { return r.modules.Load(), r.instances.Load() }

// Import implements plugins.Runtime.
func (r *Runtime) Import(module, name string) (signature string, ok bool) {
	return hostcalls.Import(module, name)
}

// Validate implements plugins.Runtime.
func (r *Runtime) Validate(ctx context.Context, wasm []byte) (err error) {
	defer recovered(&err)
	m, err := r.check.CompileModule(ctx, wasm)
	if err != nil {
		return err
	}
	return m.Close(ctx)
}

// Compile implements plugins.Runtime.
func (r *Runtime) Compile(ctx context.Context, code []byte) (_ plugins.Module, err error) {
	defer recovered(&err)
	m, err := r.run.CompileModule(ctx, code)
	if err != nil && r.dir != "" && strings.Contains(err.Error(), "compilationcache:") {
		// A file of the cache is broken, and wazero does not say which: without any it compiles anew.
		if err = empty(r.dir); err == nil {
			m, err = r.run.CompileModule(ctx, code)
		}
	}
	if err != nil {
		return nil, err
	}
	r.modules.Add(1)
	return &module{r: r, compiled: m}, nil
}

// empty removes the files that wazero keeps in its folders below dir.
func empty(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil {
		return fmt.Errorf("list the cache of compiled policies: %w", err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("empty the cache of compiled policies: %w", err)
		}
	}
	return nil
}

// recovered turns a panic of the compiler into an error: it must not take the server with it.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the WebAssembly runtime failed: %v", p)
	}
}

// Close implements plugins.Runtime.
func (r *Runtime) Close() error {
	ctx := context.Background()
	err := errors.Join(r.run.Close(ctx), r.check.Close(ctx))
	if r.cache != nil {
		err = errors.Join(err, r.cache.Close(ctx))
	}
	return err
}

var _ plugins.Runtime = (*Runtime)(nil)
