package hostcalls

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// Func is a function that policies may import. Its arguments stand in the stack, an i32 in the low half of its element,
// and its result goes to stack[0]. It panics with an Exit or ErrOutOfFuel where the guest must not go on.
type Func struct {
	Module, Name    string
	Params, Results []meter.ValueType
	Call            func(g *Guest, stack []uint64)
}

const (
	i32 = meter.I32
	i64 = meter.I64
)

func types(t ...meter.ValueType) []meter.ValueType { return t }

// sluice is the module of that name.
var sluice = []Func{
	{abi.ImportModule, abi.ImportLog, types(i32, i32, i32), nil, log},
	{abi.ImportModule, abi.ImportMetric, types(i32, i64), nil, metric},
}

var all = slices.Concat(sluice, wasi)

// All lists what a policy may import; the functions of a module stand together. It is not to be changed.
func All() []Func { return all }

// Import is what plugins.Runtime.Import answers.
func Import(module, name string) (signature string, ok bool) {
	for _, f := range all {
		if f.Module == module && f.Name == name {
			return plugins.Signature(f.Params, f.Results), true
		}
	}
	return "", false
}

// log takes one line; what is longer than plugins.MaxLogBytes is cut off.
func log(g *Guest, stack []uint64) {
	level, ptr, size := int32(stack[0]), uint32(stack[1]), uint32(stack[2])
	shown := min(size, uint32(plugins.MaxLogBytes))
	g.charge()
	text, ok := g.view(ptr, uint64(size))
	if !ok {
		return
	}
	g.chargeBytes(uint64(shown))
	g.Sink.Log(level, printable(text[:shown], g.clean[:0]), shown < size)
}

func metric(g *Guest, stack []uint64) {
	g.charge()
	g.Sink.Metric(uint32(stack[0]), int64(stack[1]))
}
