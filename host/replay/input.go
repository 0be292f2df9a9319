package replay

import (
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Input is everything that a run depends on. It is not written to.
type Input struct {
	Records  []trace.Record // by arrival
	Policies abi.Decider    // nil = native defaults; must be fresh, since policies keep state. See Swapper
	Sim      sim.Profile
	Sched    sched.Config // the zero value = DefaultSched(Sim)
	Seed     uint64       // of everything that is drawn, State.RngSeed included

	Speed       float64  // arrivals so many times as fast; 0 = 1
	StepPercent int      // step time in percent of what Sim says; 0 = 100
	Acceptance  float64  // chance of a draft token where the trace has no speculation to go by, 0..1
	Classes     []string // names by index, as the server's configuration has them; nil = DefaultClasses
	SLO         SLO      // the zero value = DefaultSLO

	// Who resolves a policy for the decision log and for OnEnd; nil names policies by their number.
	Who func(abi.PolicyID) trace.Decider
	// OnEnd gets the record of each request as it ends, if set.
	OnEnd func(*trace.Record)
}

// Swapper is what Input.Policies may be besides: policies that change while they are asked, as a quarantine changes them.
// Swap is called with the virtual time before each step, as the live engine does, and while none is in flight.
type Swapper interface {
	Swap(now int64) (d abi.Decider, epoch uint32, changed bool)
}

// DefaultClasses returns the class names by index of a server that configures none. Names that a trace adds come after.
func DefaultClasses() []string { return []string{trace.DefaultClass, "batch"} }

// DefaultSched is the scheduler's configuration on a simulated device, as the server would choose it on a real one.
func DefaultSched(p sim.Profile) sched.Config {
	c := sched.DefaultConfig(p.MaxSeqs, p.MaxBatchTokens, p.ContextTokens, p.KVTokens)
	c.MaxDraft = abi.MaxDraft
	return c
}

// The bounds of Speed and StepPercent.
const (
	minSpeed, maxSpeed     = 1e-3, 1e3
	minPercent, maxPercent = 1, 10_000
)

// withDefaults fills what is zero, and refuses what cannot work.
func (in Input) withDefaults() (Input, error) {
	if in.Sim.Cost == nil {
		return in, errors.New("no simulated device")
	}
	if in.Sched.MaxSeqs == 0 {
		in.Sched = DefaultSched(in.Sim)
	}
	in.Sched.Seed = in.Seed
	if in.Speed == 0 {
		in.Speed = 1
	}
	if in.StepPercent == 0 {
		in.StepPercent = 100
	}
	if in.SLO == (SLO{}) {
		in.SLO = DefaultSLO()
	}
	switch {
	case !(in.Speed >= minSpeed && in.Speed <= maxSpeed):
		return in, fmt.Errorf("speed %g is not within %g to %g", in.Speed, minSpeed, maxSpeed)
	case in.StepPercent < minPercent || in.StepPercent > maxPercent:
		return in, fmt.Errorf("step time of %d %% is not within %d to %d", in.StepPercent, minPercent, maxPercent)
	case !(in.Acceptance >= 0 && in.Acceptance <= 1):
		return in, fmt.Errorf("acceptance %g is not within 0 to 1", in.Acceptance)
	}
	return in, nil
}
