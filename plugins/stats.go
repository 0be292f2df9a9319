package plugins

import (
	"math/bits"
	"sync/atomic"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// hooks is the number of hooks: the bits of abi.Hook.
const hooks = 7

// hookIndex is the number of a single hook's bit.
func hookIndex(h abi.Hook) int { return bits.TrailingZeros32(uint32(h)) }

// stats is what one version of one policy did. The goroutine that calls the policy writes, any may read.
type stats struct {
	hook      [hooks]hookStats
	badCalls  atomic.Uint64
	logLines  atomic.Uint64
	logLost   atomic.Uint64
	badLines  atomic.Uint64
	replaced  atomic.Uint64
	metrics   [Metrics]atomic.Int64
	published atomic.Uint32 // bit set: metrics that were ever set
}

type hookStats struct {
	calls, abstains, lastFuel, maxFuel atomic.Uint64
	fallbacks                          [faults]atomic.Uint64
}

// called counts a call that a guest took.
func (s *stats) called(e Entry, used int64) {
	h := &s.hook[hookIndex(e.Hook())]
	h.calls.Add(1)
	u := uint64(max(used, 0))
	if u != h.lastFuel.Load() { // an atomic store costs as much as the rest of the call's bookkeeping
		h.lastFuel.Store(u)
	}
	if u > h.maxFuel.Load() { // one writer: no compare and swap needed
		h.maxFuel.Store(u)
	}
}

func (s *stats) abstained(e Entry) { s.hook[hookIndex(e.Hook())].abstains.Add(1) }

func (s *stats) fellBack(e Entry, why Fault) {
	s.hook[hookIndex(e.Hook())].fallbacks[why].Add(1)
}
