package sluice

import "unsafe"

//go:wasmimport sluice log
func importLog(level int32, ptr unsafe.Pointer, size int32)

//go:wasmimport sluice metric
func importMetric(id int32, value int64)

func hostLog(level Level, line []byte) {
	importLog(int32(level), unsafe.Pointer(unsafe.SliceData(line)), int32(len(line)))
}

func hostMetric(id uint32, value int64) { importMetric(int32(id), value) }
