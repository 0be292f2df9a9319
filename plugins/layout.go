package plugins

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// layout is a descriptor after every field of it has been checked.
type layout struct {
	hooks                      abi.Hook
	state, rows, config, event Region
	out                        Region
	stride                     uint32
	reads                      abi.Group
	minor                      uint16
}

// The least that a guest must leave room for: the state up to its first optional part, and a row's identity.
const (
	minState  = uint32(unsafe.Offsetof(abi.State{}.WaitingRequests))
	minStride = uint32(unsafe.Offsetof(abi.Row{}.Attempt))
)

// allHooks are those of this version of the ABI.
const allHooks = abi.HookConfigure | abi.HookAdmit | abi.HookPrioritize | abi.HookBatchCap | abi.HookSpeculate | abi.HookEvents | abi.HookState

// readLayout reads the descriptor at ptr once. Guest memory never shrinks, so what is inside it now stays so.
func readLayout(inst Instance, ptr uint32) (layout, error) {
	view, ok := inst.Read(ptr, abi.DescriptorSize)
	if !ok {
		return layout{}, fmt.Errorf("%s returned address %d, which is outside the module's memory", abi.ExportMarker, ptr)
	}
	var d abi.Descriptor
	copy(abi.Bytes(&d), view)
	if d.Magic != abi.Magic {
		return layout{}, fmt.Errorf("%s points to 0x%08x and not to the magic SLCE: build with a Sluice SDK", abi.ExportMarker, d.Magic)
	}
	if d.Major != abi.Major {
		return layout{}, fmt.Errorf("it speaks ABI version %d.%d and this host %d.%d: build with an SDK of version %d",
			d.Major, d.Minor, abi.Major, abi.Minor, abi.Major)
	}
	if unknown := abi.Hook(d.Hooks) &^ allHooks; unknown != 0 {
		return layout{}, fmt.Errorf("hooks 0x%x are not known to ABI version %d.%d: build with an older SDK or update the host", uint32(unknown), abi.Major, abi.Minor)
	}
	l := layout{
		hooks: abi.Hook(d.Hooks), state: Region{d.StatePtr, d.StateCap}, rows: Region{d.RowsPtr, d.RowsCap},
		config: Region{d.ConfigPtr, d.ConfigCap}, event: Region{d.EventsPtr, d.EventsCap},
		out: Region{d.OutPtr, d.OutCap}, stride: d.RowStride, reads: abi.Declared(d.Reads), minor: d.Minor,
	}
	return l, l.check(inst)
}

// check reports every field that is wrong.
func (l *layout) check(inst Instance) error {
	var errs []error
	room := func(name string, r Region, least uint32) {
		if r.Len < least {
			errs = append(errs, fmt.Errorf("%s_cap is %d and must be at least %d for the hooks that it declares", name, r.Len, least))
		}
		if _, ok := inst.Read(r.Ptr, r.Len); !ok {
			errs = append(errs, fmt.Errorf("%s_ptr %d with %s_cap %d is outside the module's memory", name, r.Ptr, name, r.Len))
		}
	}
	need := l.need()
	if need.rows > 0 && (l.stride < minStride || l.stride%8 != 0 || l.stride > 1<<16) {
		errs = append(errs, fmt.Errorf("row_stride is %d and must be a multiple of 8 from %d on", l.stride, minStride))
	} else {
		room("rows", l.rows, need.rows*l.stride)
	}
	room("state", l.state, need.state)
	room("out", l.out, need.out)
	room("config", l.config, need.config)
	room("events", l.event, need.events)
	return joined(errs)
}

// needs is what the declared hooks require: rows in rows, all else in bytes.
type needs struct{ rows, state, out, config, events uint32 }

func (l *layout) need() (n needs) {
	has := func(h abi.Hook) bool { return l.hooks&h != 0 }
	if has(abi.HookAdmit | abi.HookPrioritize | abi.HookSpeculate) {
		n.rows = abi.MaxRows
	}
	if has(abi.HookAdmit | abi.HookPrioritize | abi.HookSpeculate | abi.HookBatchCap | abi.HookEvents) {
		n.state = minState
	}
	for _, h := range []struct {
		hook abi.Hook
		size uint32
	}{{abi.HookAdmit, abi.VerdictSize * abi.MaxRows}, {abi.HookPrioritize, abi.RankingSize * abi.MaxRows},
		{abi.HookBatchCap, abi.BatchPlanSize}, {abi.HookSpeculate, specSize(abi.MaxRows)}} {
		if has(h.hook) {
			n.out = max(n.out, h.size)
		}
	}
	if has(abi.HookConfigure | abi.HookState) {
		n.config = 2 // {}
	}
	if has(abi.HookEvents) {
		n.events = abi.EventSize
	}
	return n
}

// specSize is the size of a speculation plan for n rows.
func specSize(n int) uint32 { return abi.SpecPlanSize + 4*uint32(n) }

// joined is errors.Join on one line; nil for none.
func joined(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	all := make([]string, len(errs))
	for i, err := range errs {
		all[i] = err.Error()
	}
	return errors.New(strings.Join(all, "; "))
}
