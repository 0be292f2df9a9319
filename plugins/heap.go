package plugins

import (
	"runtime/debug"
	"runtime/metrics"
)

// heapSlack is by how many bytes preparing a policy may leave the process larger before they are given back by force.
const heapSlack = 32 << 20

// heapHeld is what Go's runtime has from the system, in bytes.
func heapHeld() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// giveBack returns memory to the system if there is much more than before. The compiler's, and the stack of a guest that
// recurses until its fuel is gone, take hundreds of megabytes, which the collector alone would keep for minutes.
func giveBack(before uint64) {
	if heapHeld() > before+heapSlack {
		debug.FreeOSMemory()
	}
}
