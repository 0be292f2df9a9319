package wasmtest

import (
	"testing"
	"unsafe"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// Flat calls every hook of a configured instance calls times, with rows in all phases, and checks that its memory does not
// grow after the first few calls. A guest that allocates in its hooks fails here: its memory grows, or it dies.
func Flat(t *testing.T, g *Guest, calls int) {
	t.Helper()
	const now = 3600 * sluice.Second
	for _, h := range each(g.Hooks() &^ sluice.HookState) {
		st, rows := likely(7, 32, now)
		g.writeState(&st)
		g.writeRows(rows)
		g.repeat(h, 1000, len(rows))
		before := g.Pages()
		g.repeat(h, calls, len(rows))
		if after := g.Pages(); after != before {
			t.Errorf("hook %d: %d pages of memory after %d calls, %d before", h, after, calls, before)
		}
	}
}

// repeat calls one hook without looking at its answers. The clock moves, so that time-driven state does too.
func (g *Guest) repeat(h sluice.Hook, calls, rows int) {
	g.t.Helper()
	name := exports[h]
	f := g.mod.ExportedFunction(name)
	var stack [1]uint64
	step, clock := uint64(0), uint64(0)
	mem := g.mod.Memory()
	stepAt, _ := mem.ReadUint64Le(g.Descriptor.StatePtr + stepOffset)
	nowAt, _ := mem.ReadUint64Le(g.Descriptor.StatePtr + nowOffset)
	for range calls {
		step, clock = step+1, clock+20*sluice.Millisecond
		mem.WriteUint64Le(g.Descriptor.StatePtr+stepOffset, stepAt+step)
		mem.WriteUint64Le(g.Descriptor.StatePtr+nowOffset, nowAt+clock)
		stack[0] = uint64(rows)
		if err := f.CallWithStack(g.ctx, stack[:]); err != nil {
			g.t.Fatalf("call %s: %v", name, err)
		}
		if int32(stack[0]) < 0 {
			g.t.Fatalf("%s returned %d", name, int32(stack[0]))
		}
	}
}

const (
	stepOffset = uint32(unsafe.Offsetof(sluice.State{}.StepID))
	nowOffset  = uint32(unsafe.Offsetof(sluice.State{}.NowNS))
)

var exports = map[sluice.Hook]string{
	sluice.HookAdmit: "sluice_admit", sluice.HookPrioritize: "sluice_prioritize", sluice.HookBatchCap: "sluice_batch_cap",
	sluice.HookSpeculate: "sluice_speculate", sluice.HookEvents: "sluice_events",
}
