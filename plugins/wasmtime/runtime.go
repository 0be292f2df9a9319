//go:build wasmtime

package wasmtime

// #include "guest.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	_ "github.com/bytecodealliance/wasmtime-go/v39" // for its library, which it links

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/hostcalls"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// Options configure a Runtime.
type Options struct {
	// CacheDir keeps compiled code between runs, by the digest of what was compiled. Whoever can write there can run code
	// in this process. "" keeps none.
	CacheDir string
}

// Runtime implements plugins.Runtime.
type Runtime struct {
	engine *C.wasm_engine_t
	linker *C.wasmtime_linker_t
	cache  *cache

	modules, instances atomic.Int64
}

// New returns a runtime.
func New(opt Options) (*Runtime, error) {
	kept, err := openCache(opt.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of compiled policies: %w", err)
	}
	r := &Runtime{engine: C.sluice_engine_new(), cache: kept}
	r.linker = C.wasmtime_linker_new(r.engine)
	for k, f := range hostcalls.All() {
		if err := r.define(k, f); err != nil {
			r.Close()
			return nil, fmt.Errorf("define the host's function %s.%s: %w", f.Module, f.Name, err)
		}
	}
	if err := r.check(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Runtime) define(index int, f hostcalls.Func) error {
	if len(f.Params) > C.SLUICE_ARGS {
		return errors.New("BUG: more parameters than guest.h has room for")
	}
	kinds := kindsOf(f.Params, f.Results)
	return failure(C.sluice_linker_define(r.linker, text(f.Module), C.size_t(len(f.Module)), text(f.Name), C.size_t(len(f.Name)),
		(*C.uint8_t)(unsafe.SliceData(kinds)), C.size_t(len(f.Params)), C.size_t(len(f.Results)), C.uintptr_t(index)))
}

// kindsOf writes a function's type as wasmtime does. The host and its guests exchange integers only.
func kindsOf(params, results []meter.ValueType) (kinds []byte) {
	for _, t := range slices.Concat(params, results) {
		kind := byte(C.WASM_I32)
		if t == meter.I64 {
			kind = C.WASM_I64
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// text is a string for C, for as long as the call.
func text(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s))) }

// binary is bytes for C, for as long as the call.
func binary(b []byte) (*C.uint8_t, C.size_t) {
	return (*C.uint8_t)(unsafe.SliceData(b)), C.size_t(len(b))
}

// failure takes an error over from C.
func failure(e *C.wasmtime_error_t) error {
	if e == nil {
		return nil
	}
	defer C.wasmtime_error_delete(e)
	var message C.wasm_byte_vec_t
	C.wasmtime_error_message(e, &message)
	return errors.New(oneLine(taken(&message)))
}

// oneLine joins the causes that wasmtime writes below each other.
func oneLine(text string) string {
	text, _, _ = strings.Cut(text, "\nStack backtrace:")
	var parts []string
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "0123456789: ")
		if line != "" && line != "Caused by" && line != "Caused by:" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, ": ")
}

// taken copies bytes of C's and frees them.
func taken(v *C.wasm_byte_vec_t) string {
	defer C.wasm_byte_vec_delete(v)
	return C.GoStringN(v.data, C.int(v.size))
}

// Live counts the modules and the instances that are not closed.
func (r *Runtime) Live() (modules, instances int64) { return r.modules.Load(), r.instances.Load() }

// Import implements plugins.Runtime.
func (r *Runtime) Import(module, name string) (signature string, ok bool) {
	return hostcalls.Import(module, name)
}

// Validate implements plugins.Runtime.
func (r *Runtime) Validate(_ context.Context, wasm []byte) error {
	b, n := binary(wasm)
	return failure(C.wasmtime_module_validate(r.engine, b, n))
}

// Compile implements plugins.Runtime.
func (r *Runtime) Compile(_ context.Context, code []byte) (plugins.Module, error) {
	native, err := r.native(code)
	if err != nil {
		return nil, err
	}
	return r.link(native)
}

// link takes native code over and gives it the functions of the host.
func (r *Runtime) link(native *C.wasmtime_module_t) (*module, error) {
	m := &module{r: r, code: native}
	if err := failure(C.wasmtime_linker_instantiate_pre(r.linker, m.code, &m.linked)); err != nil {
		C.wasmtime_module_delete(m.code)
		return nil, err
	}
	r.modules.Add(1)
	return m, nil
}

// native takes compiled code from the cache, or compiles.
func (r *Runtime) native(code []byte) (m *C.wasmtime_module_t, err error) {
	if kept, ok := r.cache.load(code); ok {
		b, n := binary(kept)
		if failure(C.wasmtime_module_deserialize(r.engine, b, n, &m)) == nil {
			return m, nil
		} // of another version or for another processor: it is compiled again
	}
	if m, err = r.translate(code); err == nil && r.cache.root != nil {
		r.keep(code, m)
	}
	return m, err
}

func (r *Runtime) translate(code []byte) (m *C.wasmtime_module_t, err error) {
	b, n := binary(code)
	err = failure(C.wasmtime_module_new(r.engine, b, n, &m))
	return m, err
}

func (r *Runtime) keep(code []byte, m *C.wasmtime_module_t) {
	var native C.wasm_byte_vec_t
	if failure(C.wasmtime_module_serialize(m, &native)) != nil {
		return // as when it cannot be stored: the next start compiles again
	}
	defer C.wasm_byte_vec_delete(&native)
	r.cache.store(code, unsafe.Slice((*byte)(unsafe.Pointer(native.data)), native.size))
}

// Close implements plugins.Runtime.
func (r *Runtime) Close() error {
	C.wasmtime_linker_delete(r.linker)
	C.wasm_engine_delete(r.engine)
	return r.cache.close()
}

var _ plugins.Runtime = (*Runtime)(nil)
