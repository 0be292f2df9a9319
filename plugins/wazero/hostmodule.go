package wazero

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// hostFunc is a function that guests may import. Its arguments stand in the stack, and its result goes to stack[0].
type hostFunc struct {
	name            string
	params, results []meter.ValueType
	call            func(i *instance, mod api.Module, stack []uint64)
}

type hostModule struct {
	name  string
	funcs []hostFunc
}

const (
	i32 = meter.I32
	i64 = meter.I64
)

func types(t ...meter.ValueType) []meter.ValueType { return t }

// encoded gives wazero the same types: both are the binary format's bytes.
func encoded(t []meter.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(t))
	for i := range t {
		out[i] = api.ValueType(t[i])
	}
	return out
}

// hostModules are all that a policy may import.
var hostModules = []hostModule{
	{abi.ImportModule, sluiceFuncs},
	{"wasi_snapshot_preview1", wasiFuncs},
}

func (m hostModule) instantiate(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(m.name)
	for _, f := range m.funcs {
		// Without reflection: 32 ns a call where a Go function's signature that is looked at costs 233 ns.
		call := api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			f.call(of(ctx), mod, stack)
		})
		b.NewFunctionBuilder().WithGoModuleFunction(call, encoded(f.params), encoded(f.results)).WithName(f.name).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// sluiceFuncs are the module "sluice".
var sluiceFuncs = []hostFunc{
	{abi.ImportLog, types(i32, i32, i32), nil, hostLog},
	{abi.ImportMetric, types(i32, i64), nil, hostMetric},
}

// hostLog takes one line; what is longer than plugins.MaxLogBytes is cut off.
func hostLog(i *instance, mod api.Module, stack []uint64) {
	level, ptr, size := int32(stack[0]), uint32(stack[1]), uint32(stack[2])
	shown := min(size, uint32(plugins.MaxLogBytes))
	i.charge(mod)
	mem := mod.Memory()
	if uint64(ptr)+uint64(size) > uint64(mem.Size()) {
		i.sink.BadCall()
		return
	}
	i.chargeBytes(uint64(shown))
	line, _ := mem.Read(ptr, shown)
	i.sink.Log(level, printable(line, i.clean[:0]), shown < size)
}

func hostMetric(i *instance, mod api.Module, stack []uint64) {
	i.charge(mod)
	i.sink.Metric(uint32(stack[0]), int64(stack[1]))
}
