//go:build wasmtime

package wasmtime

// #include "guest.h"
import "C"

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/wasmasm"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// guest.h has a place for every entry.
var _ [plugins.Entries]struct{} = [C.SLUICE_ENTRIES]struct{}{}

// probe burns a unit and returns its argument plus the byte at address 5; its other entry traps.
var probe = wasmasm.Module(
	wasmasm.Section(wasmasm.SecType, wasmasm.FuncType(wasmasm.Types(meter.I32), wasmasm.Types(meter.I32))),
	wasmasm.Section(wasmasm.SecFunction, wasmasm.U32(0), wasmasm.U32(0)),
	wasmasm.Section(wasmasm.SecMemory, wasmasm.Cat(0, 1)),
	wasmasm.Section(wasmasm.SecGlobal, wasmasm.Cat(meter.I64, 1, wasmasm.I64(probeFuel), 0x0b)),
	wasmasm.Section(wasmasm.SecExport,
		wasmasm.Export(abi.ExportAdmit, meter.KindFunction, 0), wasmasm.Export(abi.ExportEvents, meter.KindFunction, 1),
		wasmasm.Export(abi.ExportMemory, meter.KindMemory, 0), wasmasm.Export(meter.FuelExport, meter.KindGlobal, 0)),
	wasmasm.Section(wasmasm.SecCode,
		wasmasm.Fn(wasmasm.Vec(),
			0x23, 0, wasmasm.I64(1), 0x7d, 0x24, 0, // global.get, i64.sub, global.set
			0x20, 0, wasmasm.I32(0), 0x2d, 0, 5, 0x6a), // local.get, i32.load8_u, i32.add
		wasmasm.Fn(wasmasm.Vec(), 0x00)),
)

const probeFuel = 7

// check tries the library out: its declarations here and its code must belong together.
func (r *Runtime) check() error {
	native, err := r.translate(probe)
	if err != nil {
		return fmt.Errorf("try wasmtime out: %w", err)
	}
	m, err := r.link(native)
	if err != nil {
		return fmt.Errorf("try wasmtime out: %w", err)
	}
	defer m.Close()
	i, err := m.Instantiate(context.Background(), plugins.Env{Now: 1})
	if err != nil {
		return fmt.Errorf("try wasmtime out: %w", err)
	}
	defer i.Close()
	c := plugins.Call{Entry: plugins.EntryAdmit, Arg: 2, Fuel: 100}
	c.In[0] = plugins.Segment{Ptr: 5, Data: []byte{40}}
	started := i.Fuel() == probeFuel && i.Size() == 1<<16
	called := i.Call(&c) == nil && c.Ret == 42 && c.Used == 1 && i.Fuel() == 99
	var trap *plugins.Trap
	trapped := errors.As(i.Call(&plugins.Call{Entry: plugins.EntryEvents}), &trap) && trap.Cause == unreachable
	if !started || !called || !trapped {
		return errors.New("try wasmtime out: it does not do what it should: build with version 39 of its library")
	}
	return nil
}
