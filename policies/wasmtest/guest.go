// Package wasmtest runs built policies in wazero, for tests: to ask a module what its Go source answers natively, and to
// watch its memory.
//
// It is not the policy host. It has no fuel, no limits and no fallbacks: package plugins has them.
//
//	m := wasmtest.Compile(t, wasmtest.Shipped(t, "queue-age"))
//	g := m.Start(t)
//	err := g.Configure(map[string]string{"max_age": "2s"})
//	verdicts := g.Admit(&st, rows)
package wasmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/tetratelabs/wazero/api"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// Guest is one instance of a policy. One goroutine at a time may use it.
type Guest struct {
	t    testing.TB
	ctx  context.Context // carries the Guest into the functions that the module imports
	mod  api.Module
	logs []string

	// Descriptor is what the module said about itself when it was started.
	Descriptor sluice.Descriptor
}

// Close frees the instance. It may be called more than once.
func (g *Guest) Close() { g.mod.Close(g.ctx) }

// Logs are the lines that the policy has logged.
func (g *Guest) Logs() []string { return g.logs }

// Pages is the size of the instance's memory in pages of 64 KiB.
func (g *Guest) Pages() uint32 { return g.mod.Memory().Size() >> 16 }

// Hooks is the set of hooks that the policy answers.
func (g *Guest) Hooks() sluice.Hook { return sluice.Hook(g.Descriptor.Hooks) }

// Call calls an export and returns its result, sign-extended if it is an i32. A trap fails the test.
func (g *Guest) Call(export string, args ...uint64) int64 {
	f := g.mod.ExportedFunction(export)
	if f == nil {
		g.t.Fatalf("the module exports no %s", export)
	}
	out, err := f.Call(g.ctx, args...)
	if err != nil {
		g.t.Fatalf("call %s: %v", export, err)
	}
	if f.Definition().ResultTypes()[0] == api.ValueTypeI32 {
		return int64(int32(out[0]))
	}
	return int64(out[0])
}

// Configure hands the settings over, and returns the reason when the policy refuses them.
func (g *Guest) Configure(settings map[string]string) error {
	if settings == nil {
		settings = map[string]string{}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return g.ConfigureText(text)
}

// ConfigureText hands over a text, as it is, in place of the settings that a host would write.
func (g *Guest) ConfigureText(text []byte) error {
	g.write(g.Descriptor.ConfigPtr, text)
	before := len(g.logs)
	if ret := g.Call("sluice_configure", uint64(len(text))); ret != 0 {
		if len(g.logs) == before {
			return fmt.Errorf("refused with %d and no reason", ret)
		}
		return errors.New(g.logs[len(g.logs)-1])
	}
	return nil
}

// Admit returns a verdict for each row.
func (g *Guest) Admit(st *sluice.State, rows ...sluice.Row) []sluice.Verdict {
	out := make([]sluice.Verdict, len(rows))
	if g.ask("sluice_admit", st, rows) {
		g.read(g.Descriptor.OutPtr, bytesOf(out))
	}
	return out
}

// Prioritize returns a ranking for each row, and whether the policy decided.
func (g *Guest) Prioritize(st *sluice.State, rows ...sluice.Row) ([]sluice.Ranking, bool) {
	out := make([]sluice.Ranking, len(rows))
	ok := g.ask("sluice_prioritize", st, rows)
	g.read(g.Descriptor.OutPtr, bytesOf(out))
	return out, ok
}

// BatchCap returns the plan, and whether the policy decided.
func (g *Guest) BatchCap(st *sluice.State) (sluice.BatchPlan, bool) {
	out := make([]sluice.BatchPlan, 1)
	g.writeState(st)
	ok := g.decided("sluice_batch_cap", g.Call("sluice_batch_cap"))
	g.read(g.Descriptor.OutPtr, bytesOf(out))
	return out[0], ok
}

// Speculate returns the plan, the rows' k, and whether the policy decided.
func (g *Guest) Speculate(st *sluice.State, rows ...sluice.Row) (sluice.SpecPlan, []int32, bool) {
	plan, k := make([]sluice.SpecPlan, 1), make([]int32, len(rows))
	ok := g.ask("sluice_speculate", st, rows)
	g.read(g.Descriptor.OutPtr, bytesOf(plan))
	g.read(g.Descriptor.OutPtr+sluice.SpecPlanSize, bytesOf(k))
	return plan[0], k, ok
}

// Events tells the policy what happened.
func (g *Guest) Events(st *sluice.State, events ...sluice.Event) {
	g.writeState(st)
	g.write(g.Descriptor.EventsPtr, bytesOf(events))
	g.decided("sluice_events", g.Call("sluice_events", uint64(len(events))))
}

// Save returns what the policy would hand to its next version.
func (g *Guest) Save() []byte {
	ret := uint64(g.Call("sluice_save"))
	out := make([]byte, uint32(ret))
	g.read(uint32(ret>>32), out)
	return out
}

// Restore hands saved state to the policy.
func (g *Guest) Restore(saved []byte) error {
	g.write(g.Descriptor.ConfigPtr, saved)
	if g.decided("sluice_restore", g.Call("sluice_restore", uint64(len(saved)))) {
		return nil
	}
	return errors.New("declined")
}

func (g *Guest) ask(export string, st *sluice.State, rows []sluice.Row) (decided bool) {
	g.writeState(st)
	g.writeRows(rows)
	return g.decided(export, g.Call(export, uint64(len(rows))))
}

// writeState writes as much of a state as the policy knows.
func (g *Guest) writeState(st *sluice.State) {
	all := bytesOf([]sluice.State{*st})
	g.write(g.Descriptor.StatePtr, all[:min(uint32(len(all)), g.Descriptor.StateCap)])
}

// writeRows writes as much of each row as the policy knows.
func (g *Guest) writeRows(rows []sluice.Row) {
	for i := range rows {
		row := bytesOf(rows[i : i+1])
		stride := g.Descriptor.RowStride
		g.write(g.Descriptor.RowsPtr+uint32(i)*stride, row[:min(uint32(len(row)), stride)])
	}
}

func (g *Guest) decided(export string, ret int64) bool {
	switch sluice.Return(ret) {
	case sluice.ReturnDecided:
		return true
	case sluice.ReturnAbstain:
		return false
	}
	g.t.Fatalf("%s returned %d", export, ret)
	return false
}

func (g *Guest) write(ptr uint32, b []byte) {
	if !g.mod.Memory().Write(ptr, b) {
		g.t.Fatalf("%d bytes at %d are outside the module's memory", len(b), ptr)
	}
}

func (g *Guest) read(ptr uint32, b []byte) {
	view, ok := g.mod.Memory().Read(ptr, uint32(len(b)))
	if !ok {
		g.t.Fatalf("%d bytes at %d are outside the module's memory", len(b), ptr)
	}
	copy(b, view)
}

// bytesOf views a slice as memory. The layouts hold no pointers.
func bytesOf[T any](s []T) []byte {
	var x T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(x))
}
