package bench

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// native is what the server does by itself where no policy decides: requests enter within its hard limits, first come
// first served within the client's priority, under static limits of the batch, and without drafts. It is written here as a
// policy would be, so that a policy's time stands beside the least that the same question can cost.
type native struct{ order [abi.MaxRows]int32 }

// Hooks implements abi.Decider.
func (n *native) Hooks() abi.Hook { return ^abi.Hook(0) }

// Reads implements abi.Decider.
func (n *native) Reads() abi.Group { return abi.GroupBasic }

// Admit implements abi.Decider.
func (n *native) Admit(st *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	clear(by)
	waiting := st.WaitingRequests
	for i := range rows {
		out[i] = abi.Verdict{Action: uint8(abi.ActionAdmit), ClassOverride: -1, SpeculationCap: -1}
		if waiting >= st.QueueLimit {
			out[i].Action, out[i].Status, out[i].Reason = uint8(abi.ActionReject), 503, uint16(abi.ReasonQueueFull)
			continue
		}
		waiting++
	}
}

// Prioritize implements abi.Decider.
func (n *native) Prioritize(_ *abi.State, rows []abi.Row, out []abi.Ranking) (bool, abi.PolicyID) {
	order := n.order[:len(rows)]
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &rows[a], &rows[b]
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.ArrivalNS, y.ArrivalNS), cmp.Compare(x.ID, y.ID))
	})
	for rank, i := range order {
		out[i] = abi.Ranking{Score: int64(rank)}
	}
	return true, abi.Native
}

// BatchPlan implements abi.Decider.
func (n *native) BatchPlan(st *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	*out = abi.BatchPlan{MaxSeqs: st.MaxNumSeqs, MaxBatchedTokens: st.MaxBatchedTokens}
	return true, abi.Native
}

// Speculate implements abi.Decider.
func (n *native) Speculate(_ *abi.State, _ []abi.Row, out *abi.SpecPlan, k []int32) (bool, abi.PolicyID) {
	*out = abi.SpecPlan{}
	clear(k)
	return true, abi.Native
}

// Events implements abi.Decider.
func (n *native) Events(*abi.State, []abi.Event) {}

var _ abi.Decider = (*native)(nil)
