package abi

// PolicyID names one loaded version of one policy for the life of the process. 0 is the native default. -n says that
// policy n was asked, failed, and the native default decided in its place. plugins.Host.Ref resolves it to name and digest.
type PolicyID int32

// Native is the PolicyID of the host's own default.
const Native PolicyID = 0

// Decider is what the scheduler asks: a set of policies in force, or nothing at all. plugins.Set implements it.
//
// # Notes
//
//   - Every method is called from one goroutine, the one that owns the scheduler.
//   - No method keeps its arguments, and none allocates in the steady state.
//   - A Decider decides only what was asked of it. Clamping to hard limits and the native defaults are the caller's.
//   - len(rows) is at most MaxRows, and len(out) = len(rows).
type Decider interface {
	// Hooks is the set of hooks that some policy answers. A hook outside it need not be called.
	Hooks() Hook
	// Reads is the set of groups whose fields some policy reads. Fields of other groups may be left unset.
	Reads() Group
	// Admit judges each row. out[i] stays zero (ActionAbstain) where no policy has an opinion. by[i] names the policy
	// whose verdict out[i] is: the one that rejected, else the last one that did not abstain.
	Admit(st *State, rows []Row, out []Verdict, by []PolicyID)
	// Prioritize ranks rows. Scores of a chain of policies are collapsed to one: lower goes first, equal keeps the
	// caller's order. It reports whether out holds a ranking and who made it.
	Prioritize(st *State, rows []Row, out []Ranking) (decided bool, by PolicyID)
	// BatchPlan fills out with the strictest of each field over the chain.
	BatchPlan(st *State, out *BatchPlan) (decided bool, by PolicyID)
	// Speculate fills out and k, one a row (-1 = out.K), with the strictest over the chain.
	Speculate(st *State, rows []Row, out *SpecPlan, k []int32) (decided bool, by PolicyID)
	// Events tells the policies what happened since the last step. It decides nothing.
	Events(st *State, events []Event)
}
