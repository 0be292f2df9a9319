// Package abi is the contract between the host and a Wasm policy: the layouts of what crosses the boundary, the
// names of the calls, and nothing that runs. abi.yaml is its only source; layout_gen.go follows from it.
//
// It is not an API for policy authors: they import an SDK (sdk/go), whose layouts come from the same schema.
//
// The host's structs have the guest's memory layout, so a snapshot is written with one copy:
//
//	st := abi.State{Size: abi.StateSize, NowNS: now, WaitingRequests: 3}
//	copy(memory[statePtr:], abi.Bytes(&st))
package abi

import "unsafe"

// Magic is the first word of a Descriptor: the bytes "SLCE".
const Magic uint32 = 'S' | 'L'<<8 | 'C'<<16 | 'E'<<24

// The names that a policy exports. A policy without ExportMarker is not one; all others but the memory are optional.
const (
	ExportMarker     = "sluice_abi_v1"
	ExportMemory     = "memory"
	ExportConfigure  = "sluice_configure"
	ExportAdmit      = "sluice_admit"
	ExportPrioritize = "sluice_prioritize"
	ExportBatchCap   = "sluice_batch_cap"
	ExportSpeculate  = "sluice_speculate"
	ExportEvents     = "sluice_events"
	ExportSave       = "sluice_save"
	ExportRestore    = "sluice_restore"
)

// The module and functions that a policy may import.
const (
	ImportModule = "sluice"
	ImportLog    = "log"    // (level, ptr, len i32)
	ImportMetric = "metric" // (id i32, value i64)
)

// MaxRows is the number of requests that the host shows to one call.
const MaxRows = 256

// Classes is the number of request classes.
const Classes = 16

// MaxDraft is the largest number of draft tokens that may be asked for one row of one step.
const MaxDraft = 15

// Bytes views a layout, or the backing array of a slice of them, as memory. The layouts hold no pointers.
func Bytes[T any](x *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(x)), unsafe.Sizeof(*x))
}

// SliceBytes views the elements of s as memory.
func SliceBytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), uintptr(len(s))*unsafe.Sizeof(s[0]))
}
