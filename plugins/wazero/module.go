package wazero

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/meter"
)

type module struct {
	r        *Runtime
	compiled wazero.CompiledModule
}

// Instantiate implements plugins.Module.
func (m *module) Instantiate(ctx context.Context, env plugins.Env) (_ plugins.Instance, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i := &instance{reserved: linearMemory{live: &m.r.instances}}
	i.guest.Sink = env.Sink
	i.guest.Begin(env.Now, env.Seed)
	// Nothing of ctx may reach the guest or end it: how far it comes is a matter of fuel alone.
	i.ctx = guestContext{context.Background(), i}
	defer func() {
		if err != nil {
			i.reserved.Free() // wazero forgets it when a start function fails
		}
	}()
	defer recovered(&err)
	starting := guestContext{experimental.WithMemoryAllocator(context.Background(), i), i}
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	i.mod, err = m.r.run.InstantiateModule(starting, m.compiled, cfg)
	if err != nil {
		return nil, i.trap("start", err)
	}
	if err = i.bind(); err == nil {
		err = i.initialize()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// Close implements plugins.Module.
func (m *module) Close() error {
	m.r.modules.Add(-1)
	return m.compiled.Close(context.Background())
}

// bind looks up what calls need, so that they look up nothing.
func (i *instance) bind() error {
	i.memory = i.mod.Memory()
	i.bindFuel(i.mod)
	if i.fuel == nil || i.memory == nil {
		return errors.New("BUG: the module was not metered, or has no memory")
	}
	for e := range plugins.Entries {
		i.fn[e] = i.mod.ExportedFunction(e.String())
	}
	return nil
}

func (i *instance) bindFuel(mod api.Module) {
	i.fuel, _ = mod.ExportedGlobal(meter.FuelExport).(api.MutableGlobal)
	i.guest.Fuel = i.fuel
}

// initialize runs what a reactor module exports for it, with what the start function left of the fuel.
func (i *instance) initialize() error {
	const name = "_initialize"
	fn := i.mod.ExportedFunction(name)
	if fn == nil {
		return nil
	}
	if d := fn.Definition(); len(d.ParamTypes())+len(d.ResultTypes()) > 0 {
		return fmt.Errorf("%s must be a function () -> ()", name)
	}
	if err := fn.CallWithStack(i.ctx, nil); err != nil {
		return i.trap(name, err)
	}
	return nil
}

// Allocate implements experimental.MemoryAllocator: it reserves max bytes, so that views of guest memory stay valid, and
// the system backs only those that are used.
func (i *instance) Allocate(_, max uint64) experimental.LinearMemory {
	i.reserved.reserve(max)
	return &i.reserved
}

// guestContext carries the instance into the functions that its guest calls.
type guestContext struct {
	context.Context
	i *instance
}

type instanceKey struct{}

func (c guestContext) Value(key any) any {
	if _, ok := key.(instanceKey); ok {
		return c.i
	}
	return c.Context.Value(key)
}

// of is the instance whose guest called a host function.
func of(ctx context.Context) *instance { return ctx.Value(instanceKey{}).(*instance) }

var _ plugins.Module = (*module)(nil)
