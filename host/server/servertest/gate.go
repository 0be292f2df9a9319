package servertest

import (
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Gate is a policy that gives every request in one phase the same verdict.
type Gate struct {
	Phase   abi.Phase
	Verdict abi.Verdict
	Times   int // how often it decides before it abstains; 0 = always
	put     bool
	decided int
}

// Reject is a verdict; retryMS 0 leaves Retry-After to the host.
func Reject(status uint16, reason abi.Reason, retryMS uint32) abi.Verdict {
	return abi.Verdict{Action: uint8(abi.ActionReject), Status: status, Reason: uint16(reason), RetryAfterMs: retryMS}
}

// Install puts the gate into an engine's configuration.
func (g *Gate) Install(c *engine.Config) { c.Policies = g }

// Swap puts the gate in force once.
func (g *Gate) Swap(int64) (abi.Decider, uint32, bool) {
	changed := !g.put
	g.put = true
	return g, 1, changed
}

// Name is the gate's in records.
func (g *Gate) Who(id abi.PolicyID) trace.Decider {
	if id == abi.Native {
		return trace.Decider{Policy: trace.NativeName}
	}
	return trace.Decider{Policy: "gate", Digest: "digest"}
}

// Hooks is admission alone.
func (g *Gate) Hooks() abi.Hook { return abi.HookAdmit }

// Reads implements abi.Decider.
func (g *Gate) Reads() abi.Group { return abi.All }

// Admit gives the verdict to the rows in the gate's phase.
func (g *Gate) Admit(_ *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	for i := range rows {
		if rows[i].Phase == uint8(g.Phase) && (g.Times == 0 || g.decided < g.Times) {
			g.decided++
			out[i], by[i] = g.Verdict, 1
		}
	}
}

// Prioritize abstains.
func (g *Gate) Prioritize(*abi.State, []abi.Row, []abi.Ranking) (bool, abi.PolicyID) {
	return false, abi.Native
}

// BatchPlan abstains.
func (g *Gate) BatchPlan(*abi.State, *abi.BatchPlan) (bool, abi.PolicyID) { return false, abi.Native }

// Speculate abstains.
func (g *Gate) Speculate(*abi.State, []abi.Row, *abi.SpecPlan, []int32) (bool, abi.PolicyID) {
	return false, abi.Native
}

// Events are of no interest.
func (g *Gate) Events(*abi.State, []abi.Event) {}

var (
	_ abi.Decider         = (*Gate)(nil)
	_ engine.PolicySource = (*Gate)(nil)
)
