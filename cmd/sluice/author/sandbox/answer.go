package sandbox

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Answer is what came of a Question.
type Answer struct {
	Hook    abi.Hook
	Decided bool   // false: the policy has no opinion, or failed
	Fault   string // why it failed: the name of a plugins.Fault; "" when it did not
	Err     error  // the same in words
	Fuel    uint64 // units that the call took

	Verdicts []abi.Verdict // of Admit, one a row
	Rankings []abi.Ranking // of Prioritize, one a row
	Order    []uint64      // of Prioritize: the ids of the rows that wait, as they would enter
	Victims  []uint64      // of Prioritize: the ids of the rows that run, as they would be preempted
	Batch    abi.BatchPlan // of BatchCap
	Spec     abi.SpecPlan  // of Speculate
	K        []int32       // of Speculate: draft tokens of each row; -1 = the plan's

	Log []string // what the policy logged, but for lines over the rate
}

// Show is the answer by names, for JSON.
func (a *Answer) Show() notation.Object {
	o := notation.Object{{Name: "hook", Value: HookName(a.Hook)}, {Name: "decided", Value: a.Decided}}
	add := func(name string, value any) { o = append(o, notation.Pair{Name: name, Value: value}) }
	if a.Fault != "" {
		add("fault", a.Fault)
		add("error", a.Err.Error())
	} else {
		a.showDecision(add)
	}
	if len(a.Log) > 0 {
		add("log", a.Log)
	}
	add("fuel", a.Fuel)
	return o
}

func (a *Answer) showDecision(add func(string, any)) {
	if !a.Decided {
		return
	}
	rows := []any{}
	switch a.Hook {
	case abi.HookAdmit:
		for i := range a.Verdicts {
			if a.Verdicts[i].Action == uint8(abi.ActionAbstain) {
				rows = append(rows, notation.Object{{Name: "action", Value: abi.ActionAbstain.String()}})
				continue
			}
			rows = append(rows, notation.Show("Verdict", abi.Bytes(&a.Verdicts[i])))
		}
	case abi.HookPrioritize:
		for i := range a.Rankings {
			rows = append(rows, notation.Show("Ranking", abi.Bytes(&a.Rankings[i])))
		}
		add("order", a.Order)
		add("victims", a.Victims)
	case abi.HookBatchCap:
		add("plan", notation.Show("BatchPlan", abi.Bytes(&a.Batch)))
		return
	case abi.HookSpeculate:
		add("plan", notation.Show("SpecPlan", abi.Bytes(&a.Spec)))
		for _, k := range a.K {
			rows = append(rows, k)
		}
	default:
		return
	}
	add("rows", rows)
}

// Runs reports whether a row is shown as a possible victim.
func Runs(r *abi.Row) bool { return r.Phase == uint8(abi.PhaseRunning) }

// rank orders the rows as the scheduler does: what waits by the lowest score, what runs by the highest victim rank. Equal
// ones keep the order in which they were shown.
func (a *Answer) rank(rows []abi.Row) {
	var waiting, running []int
	for i := range rows {
		if Runs(&rows[i]) {
			running = append(running, i)
		} else {
			waiting = append(waiting, i)
		}
	}
	slices.SortStableFunc(waiting, func(x, y int) int { return cmp.Compare(a.Rankings[x].Score, a.Rankings[y].Score) })
	slices.SortStableFunc(running, func(x, y int) int { return cmp.Compare(a.Rankings[y].VictimRank, a.Rankings[x].VictimRank) })
	a.Order, a.Victims = []uint64{}, []uint64{}
	for _, i := range waiting {
		a.Order = append(a.Order, rows[i].ID)
	}
	for _, i := range running {
		a.Victims = append(a.Victims, rows[i].ID)
	}
}
