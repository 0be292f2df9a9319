package wazero

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-dev/sluice/plugins/internal/hostcalls"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// defineHost gives guests the functions that they may import.
func defineHost(ctx context.Context, r wazero.Runtime) error {
	var b wazero.HostModuleBuilder
	funcs := hostcalls.All()
	for k, f := range funcs {
		if b == nil {
			b = r.NewHostModuleBuilder(f.Module)
		}
		// Without reflection: 32 ns a call where a Go function's signature that is looked at costs 233 ns.
		call := api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			f.Call(of(ctx).called(mod), stack)
		})
		b.NewFunctionBuilder().WithGoModuleFunction(call, encoded(f.Params), encoded(f.Results)).WithName(f.Name).Export(f.Name)
		if k+1 < len(funcs) && funcs[k+1].Module == f.Module {
			continue
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
		b = nil
	}
	return nil
}

// called readies the guest for what it called.
func (i *instance) called(mod api.Module) *hostcalls.Guest {
	if i.fuel == nil {
		i.bindFuel(mod)
	}
	mem := mod.Memory()
	i.guest.Memory, _ = mem.Read(0, mem.Size())
	return &i.guest
}

// encoded gives wazero the same types: both are the binary format's bytes.
func encoded(t []meter.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(t))
	for i := range t {
		out[i] = api.ValueType(t[i])
	}
	return out
}
