//go:build !tinygo

package sluice

import (
	"runtime"
	_ "unsafe" // for linkname
)

// writeBarrier is the runtime's own: it is enabled while a collection of garbage is under way.
//
//go:linkname writeBarrier runtime.writeBarrier
var writeBarrier struct {
	enabled bool
	_       [3]byte
	_       uint64
}

// yield gives the collector its turn. It is a goroutine of its own, and none runs while the host waits between two calls:
// allocations do part of its work, and where that is not enough a policy that allocates would grow to its memory's limit.
// A policy that does not allocate pays for reading one byte.
func yield() {
	if writeBarrier.enabled {
		collect()
	}
}

// patience is in how many calls allocations may end a collection. They do so piecemeal; the collector in one go.
const patience = 16

var collecting uint32 // calls that ended while a collection was under way

//go:noinline
func collect() {
	if collecting++; collecting%patience == 0 {
		runtime.Gosched()
	}
}
