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
	recycled  atomic.Uint64
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

// decisions counts the calls of hooks that a step makes.
func (s *stats) decisions() (n uint64) {
	for i := range s.hook {
		if i != hookIndex(abi.HookConfigure) && i != hookIndex(abi.HookState) {
			n += s.hook[i].calls.Load()
		}
	}
	return n
}

// reset begins anew, when a shadow becomes a policy: its faults were no fallbacks.
func (s *stats) reset() {
	for i := range s.hook {
		h := &s.hook[i]
		for _, n := range []*atomic.Uint64{&h.calls, &h.abstains, &h.lastFuel, &h.maxFuel} {
			n.Store(0)
		}
		for f := range h.fallbacks {
			h.fallbacks[f].Store(0)
		}
	}
	for _, n := range []*atomic.Uint64{&s.badCalls, &s.logLines, &s.logLost, &s.badLines, &s.replaced, &s.recycled} {
		n.Store(0)
	}
}

func (s *stats) abstained(e Entry) { s.hook[hookIndex(e.Hook())].abstains.Add(1) }

func (s *stats) fellBack(e Entry, why Fault) {
	s.hook[hookIndex(e.Hook())].fallbacks[why].Add(1)
}
