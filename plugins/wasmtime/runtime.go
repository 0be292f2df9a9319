//go:build wasmtime

package wasmtime

// #include "guest.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

	modules, instances atomic.Int64
}

// New returns a runtime.
func New(opt Options) (*Runtime, error) {
	r := &Runtime{engine: C.sluice_engine_new()}
	if r.engine == nil {
		return nil, errors.New("start wasmtime: it refused its configuration")
	}
	r.linker = C.wasmtime_linker_new(r.engine)
	for k, f := range hostcalls.All() {
		if err := r.define(k, f); err != nil {
			r.Close()
			return nil, fmt.Errorf("define the host's function %s.%s: %w", f.Module, f.Name, err)
		}
	}
	return r, nil
}

func (r *Runtime) define(index int, f hostcalls.Func) error {
	kinds := kindsOf(f.Params, f.Results)
	return failure(C.sluice_linker_define(r.linker, text(f.Module), C.size_t(len(f.Module)), text(f.Name), C.size_t(len(f.Name)),
		(*C.uint8_t)(unsafe.SliceData(kinds)), C.size_t(len(f.Params)), C.size_t(len(f.Results)), C.uintptr_t(index)))
}

// kindsOf writes a function's type as wasmtime does. The host and its guests exchange integers only.
func kindsOf(params, results []meter.ValueType) (kinds []byte) {
	for _, t := range slices.Concat(params, results) {
		kind := byte(0) // i32
		if t == meter.I64 {
			kind = 1
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
	return errors.New(taken(&message))
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
	m := &module{r: r}
	b, n := binary(code)
	if err := failure(C.wasmtime_module_new(r.engine, b, n, &m.code)); err != nil {
		return nil, err
	}
	if err := failure(C.wasmtime_linker_instantiate_pre(r.linker, m.code, &m.linked)); err != nil {
		C.wasmtime_module_delete(m.code)
		return nil, err
	}
	r.modules.Add(1)
	return m, nil
}

// Close implements plugins.Runtime.
func (r *Runtime) Close() error {
	C.wasmtime_linker_delete(r.linker)
	C.wasm_engine_delete(r.engine)
	return nil
}

var _ plugins.Runtime = (*Runtime)(nil)
