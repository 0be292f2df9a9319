// Tpot-cap makes the batch as large as the time per output token allows, and no larger.
//
// It decides how many requests may run. The measure is what a step takes for the batch alone, since a smaller batch does not
// shorten what prompts add to a step: the median of the steps without prompts or, where each step has some, the shortest step
// of the window. The median of the time per output token takes its place where that is less, as with accepted drafts. Every
// hold_steps steps:
//
//   - above the target, the cap becomes `decrease` times what runs (multiplicative decrease). Running requests are not
//     stopped, so the batch comes down as they end: the next cut comes settle_steps after it has;
//   - below the target by more than `band`, the cap rises by `increase` (additive increase), if it is what limits the batch;
//   - in between, it stays.
//
// Asked where no figure is known, as after ten seconds without a step, it goes back to the ceiling, since what it has learned
// is of another load. A target that cannot be held at the floor is logged once. What it has learned survives a swap of the policy.
//
// Settings:
//
//	tpot          50ms  target, 100us to 1m
//	floor         1     smallest cap, 1 to 4096
//	ceiling       0     largest cap, 0 to 4096; 0 = the host's limit
//	band          0.1   how far below the target the cap rises again, 0 to 0.9
//	increase      1     1 to 64
//	decrease      0.75  0.1 to 0.99
//	hold_steps    16    steps between two decisions, 1 to 1024
//	settle_steps  64    steps that the measure needs to forget a larger batch, 0 to 100000
//
//	sluice policy push tpot-cap.wasm --set tpot=40ms --set floor=2
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	target, resume int64 // ns: above target the cap falls, below resume it rises
	floor, ceiling uint32
	increase       uint32
	decrease       int64 // ppm
	hold, settle   uint64

	cap     uint32 // 0 until the first step
	judged  uint64 // the step of the last decision
	settled uint64 // the step from which on the measure is of the batch as it is
	warned  bool
}

// Reads declares what the policy looks at beside what is always there.
func (p *policy) Reads() sluice.Group { return sluice.GroupSpeed }

// Configure implements sluice.Configurer.
func (p *policy) Configure(c *sluice.Config) error {
	p.target = c.Duration("tpot", 50*sluice.Millisecond, sluice.Millisecond/10, sluice.Minute)
	p.floor = uint32(c.Int("floor", 1, 1, 4096))
	p.ceiling = uint32(c.Int("ceiling", 0, 0, 4096))
	p.resume = p.target - p.target*c.Ratio("band", sluice.One/10, 0, sluice.One*9/10)/sluice.One
	p.increase = uint32(c.Int("increase", 1, 1, 64))
	p.decrease = c.Ratio("decrease", sluice.One*3/4, sluice.One/10, sluice.One*99/100)
	p.hold = uint64(c.Int("hold_steps", 16, 1, 1024))
	p.settle = uint64(c.Int("settle_steps", 64, 0, 100_000))
	if p.ceiling > 0 && p.ceiling < p.floor {
		return errFloor
	}
	return nil
}

// BatchCap implements sluice.BatchCapper.
func (p *policy) BatchCap(st *sluice.State, out *sluice.BatchPlan) bool {
	low, high := p.bounds(st.MaxNumSeqs)
	if p.cap == 0 {
		p.cap, p.judged = high, st.StepID
	}
	p.cap = min(max(p.cap, low), high)
	if st.StepID < p.judged { // restored from another run
		p.judged, p.settled = st.StepID, st.StepID
	}
	switch ns, ok := measured(st); {
	case !ok:
		p.cap, p.judged, p.settled = high, st.StepID, st.StepID
	case st.Running > 0 && st.StepID-p.judged >= p.hold:
		p.judged = st.StepID
		p.adjust(ns, st.Running, low, high)
	}
	out.MaxSeqs = p.cap
	out.HoldSteps = uint32(p.hold) - 1
	return true
}

// bounds are the floor and the ceiling in force under the host's own limit.
func (p *policy) bounds(hard uint32) (low, high uint32) {
	high = max(hard, 1)
	if p.ceiling > 0 {
		high = min(high, p.ceiling)
	}
	return min(p.floor, high), high
}

// measured is the time of a step for the batch alone, as near as it is known, or that of a token where that is less.
func measured(st *sluice.State) (ns int64, ok bool) {
	if st.Has(sluice.StateHasDecodeStepP50NS) {
		ns, ok = st.DecodeStepP50NS, true
	} else if st.Has(sluice.StateHasMinStepNS) {
		ns, ok = st.MinStepNS, true
	}
	if st.Has(sluice.StateHasITLP50NS) && (!ok || st.ITLP50NS < ns) {
		ns, ok = st.ITLP50NS, true
	}
	return ns, ok
}

func (p *policy) adjust(ns int64, running, low, high uint32) {
	switch {
	case running > p.cap:
		p.settled = p.judged + p.settle
	case ns > p.target && p.judged >= p.settled:
		p.cut(ns, running, low)
	case ns < p.resume:
		p.warned = false
		if running == p.cap {
			p.cap = min(p.cap+p.increase, high)
		}
	}
}

func (p *policy) cut(ns int64, running, low uint32) {
	if p.cap == low && !p.warned {
		p.warned = true
		sluice.Warnf("tpot=%dus is not held even at max_seqs=%d: %dus", p.target/1000, low, ns/1000)
	}
	p.cap = max(uint32(int64(running)*p.decrease/sluice.One), low)
	p.settled = p.judged + p.settle
}

var (
	_ sluice.FieldReader = (*policy)(nil)
	_ sluice.Configurer  = (*policy)(nil)
	_ sluice.BatchCapper = (*policy)(nil)
	_ sluice.StateSaver  = (*policy)(nil)
)

func init() { sluice.Register(&policy{}) }

func main() {}
