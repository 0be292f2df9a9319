//go:build wasmtime

package wasmtime

// #include "guest.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"unsafe"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/meter"
)

type module struct {
	r      *Runtime
	code   *C.wasmtime_module_t
	linked *C.wasmtime_instance_pre_t
}

// Instantiate implements plugins.Module.
func (m *module) Instantiate(ctx context.Context, env plugins.Env) (plugins.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i := &instance{r: m.r}
	i.handle = cgo.NewHandle(i)
	i.g = C.sluice_guest_new(m.r.engine, C.uintptr_t(i.handle))
	if i.g == nil {
		i.handle.Delete()
		return nil, errors.New("instantiate: there is no memory for it")
	}
	m.r.instances.Add(1)
	i.host.Sink, i.host.Fuel = env.Sink, (*fuel)(&i.g.fuel)
	i.host.Begin(env.Now, env.Seed)
	err := i.start(m.linked)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// start runs the start function and _initialize, with one budget, and looks up what calls need.
func (i *instance) start(linked *C.wasmtime_instance_pre_t) error {
	C.sluice_guest_instantiate(i.g, linked)
	if err := i.outcome("start"); err != nil {
		return err
	}
	if !i.g.bound {
		return errors.New("BUG: the module was not metered, or has no memory")
	}
	for e := range plugins.Entries {
		params, results := typeOf(e)
		i.exported[e] = i.find(C.uint32_t(e), e.String(), params, results) == C.SLUICE_FOUND
	}
	return i.initialize()
}

// typeOf is the type of an entry's function.
func typeOf(e plugins.Entry) (params, results []meter.ValueType) {
	results = []meter.ValueType{meter.I32}
	if e.TakesLength() {
		params = results
	}
	if e == plugins.EntrySave {
		results = []meter.ValueType{meter.I64}
	}
	return params, results
}

func (i *instance) find(entry C.uint32_t, name string, params, results []meter.ValueType) C.int {
	kinds := kindsOf(params, results)
	return C.sluice_guest_find(i.g, entry, text(name), C.size_t(len(name)),
		(*C.uint8_t)(unsafe.SliceData(kinds)), C.size_t(len(params)), C.size_t(len(results)))
}

// initialize runs what a reactor module exports for it, with what the start function left of the fuel.
func (i *instance) initialize() error {
	const name = "_initialize"
	switch i.find(C.SLUICE_INITIALIZE, name, nil, nil) {
	case C.SLUICE_NONE:
		return nil
	case C.SLUICE_OTHER_TYPE:
		return fmt.Errorf("%s must be a function () -> ()", name)
	}
	C.sluice_guest_call(i.g, C.SLUICE_INITIALIZE)
	return i.outcome(name)
}

// Close implements plugins.Module.
func (m *module) Close() error {
	m.r.modules.Add(-1)
	C.wasmtime_instance_pre_delete(m.linked)
	C.wasmtime_module_delete(m.code)
	return nil
}

var _ plugins.Module = (*module)(nil)
