package sluice

import "unsafe"

// The functions of the ABI. All of them are always exported; the descriptor says which ones count.

func address[T any](x *T) uint32 { return uint32(uintptr(unsafe.Pointer(x))) }

//go:wasmexport sluice_abi_v1
func abiV1() uint32 {
	descriptor = Descriptor{
		Magic: 'S' | 'L'<<8 | 'C'<<16 | 'E'<<24, Major: Major, Minor: Minor, Hooks: uint32(hooks), Reads: uint32(reads),
		StatePtr: address(&state), StateCap: StateSize,
		RowsPtr: address(&rows), RowsCap: uint32(unsafe.Sizeof(rows)), RowStride: RowSize,
		OutPtr: address(&out), OutCap: uint32(unsafe.Sizeof(out)),
		ConfigPtr: address(&config), ConfigCap: uint32(len(config)),
		EventsPtr: address(&events), EventsCap: uint32(unsafe.Sizeof(events)),
	}
	return address(&descriptor)
}

//go:wasmexport sluice_configure
func exportConfigure(n int32) int32 {
	ret := callConfigure(n)
	yield()
	return ret
}

//go:wasmexport sluice_admit
func exportAdmit(n int32) int32 {
	ret := callAdmit(n)
	yield()
	return ret
}

//go:wasmexport sluice_prioritize
func exportPrioritize(n int32) int32 {
	ret := callPrioritize(n)
	yield()
	return ret
}

//go:wasmexport sluice_batch_cap
func exportBatchCap() int32 {
	ret := callBatchCap()
	yield()
	return ret
}

//go:wasmexport sluice_speculate
func exportSpeculate(n int32) int32 {
	ret := callSpeculate(n)
	yield()
	return ret
}

//go:wasmexport sluice_events
func exportEvents(n int32) int32 {
	ret := callEvents(n)
	yield()
	return ret
}

//go:wasmexport sluice_save
func exportSave() int64 {
	b := callSave()
	yield()
	if len(b) == 0 {
		return 0
	}
	return int64(address(&b[0]))<<32 | int64(len(b))
}

//go:wasmexport sluice_restore
func exportRestore(n int32) int32 {
	ret := callRestore(n)
	yield()
	return ret
}
