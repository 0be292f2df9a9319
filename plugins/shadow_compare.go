package plugins

import "github.com/sluice-dev/sluice/plugins/abi"

// maxDifferences is how many of the last differences a shadow remembers.
const maxDifferences = 16

// would is what a shadow would have done.
type would uint8

const (
	wouldAbstain would = iota
	wouldAdmit
	wouldReject
	wouldDegrade
	wouldRank
	wouldKeep // the batch as large as it was
	wouldLower
	wouldRaise
	wouldDraft
	wouldStop // drafting
	woulds
)

var wouldNames = [woulds]string{"abstain", "admit", "reject", "degrade", "rank", "keep", "lower", "raise", "draft", "stop"}

// wouldsOf lists what can be done at a hook.
var wouldsOf = map[Entry][]would{
	EntryAdmit:      {wouldAbstain, wouldAdmit, wouldReject, wouldDegrade},
	EntryPrioritize: {wouldAbstain, wouldRank},
	EntryBatchCap:   {wouldAbstain, wouldKeep, wouldLower, wouldRaise},
	EntrySpeculate:  {wouldAbstain, wouldDraft, wouldStop},
}

// actions are what verdicts do.
var actions = [...]would{
	abi.ActionAbstain: wouldAbstain, abi.ActionAdmit: wouldAdmit, abi.ActionReject: wouldReject, abi.ActionDegrade: wouldDegrade,
}

// opinion is one answer, of whichever hook.
type opinion struct {
	answer  answer
	verdict abi.Verdict
	rank    abi.Ranking // dense: 0 is first
	batch   abi.BatchPlan
	spec    abi.SpecPlan
	k       int32
}

// difference is a question that was answered differently.
type difference struct {
	entry         Entry
	at            int64
	step, request uint64 // request is 0 where the answer is about none
	active, mine  opinion
}

func (s *shadow) count(e Entry, w would, agree bool) {
	t := &s.tally[hookIndex(e.Hook())]
	t.would[w].Add(1)
	if agree {
		t.agree.Add(1)
	} else {
		t.differ.Add(1)
	}
}

func (s *shadow) note(e Entry, st *abi.State, request uint64, active, mine opinion) {
	s.mu.Lock()
	s.last[s.seen%maxDifferences] = difference{e, st.NowNS, st.StepID, request, active, mine}
	s.seen++
	s.mu.Unlock()
}

// admit compares each row. active and a are the policy's own answer.
func (s *shadow) admit(set *Set, st *abi.State, rows []abi.Row, active []abi.Verdict, a answer) {
	mine := s.verdicts[:len(rows)]
	if !s.sees() || set.judge(s.v, st, rows, mine) == failed {
		return
	}
	for i := range rows {
		agree := mine[i] == active[i]
		s.count(EntryAdmit, actions[mine[i].Action], agree)
		if !agree {
			s.note(EntryAdmit, st, rows[i].ID, opinion{answer: a, verdict: active[i]}, opinion{verdict: mine[i]})
		}
	}
}

// prioritize compares the orders that two rankings make, and what they permit.
func (s *shadow) prioritize(set *Set, st *abi.State, rows []abi.Row, active []abi.Ranking, a answer) {
	mine, theirs := s.mine[:len(rows)], s.theirs[:len(rows)]
	if !s.sees() {
		return
	}
	b := set.rank(s.v, st, rows, mine)
	if b == failed {
		return
	}
	w := wouldAbstain
	if b == decided {
		w = wouldRank
		s.dense(mine)
	}
	if a == decided {
		copy(theirs, active)
		s.dense(theirs)
	}
	if a != decided || b != decided {
		agree := a != decided && b != decided
		s.count(EntryPrioritize, w, agree)
		if !agree {
			s.note(EntryPrioritize, st, 0, opinion{answer: a}, opinion{answer: b})
		}
		return
	}
	for i := range rows {
		if mine[i] != theirs[i] {
			s.count(EntryPrioritize, w, false)
			s.note(EntryPrioritize, st, rows[i].ID, opinion{rank: theirs[i]}, opinion{rank: mine[i]})
			return
		}
	}
	s.count(EntryPrioritize, w, true)
}

// dense replaces scores and victim ranks by the orders that they make.
func (s *shadow) dense(r []abi.Ranking) {
	s.lex.collapse(r, r, func(r *abi.Ranking) *int64 { return &r.Score })
	s.lex.collapse(r, r, func(r *abi.Ranking) *int64 { return &r.VictimRank })
}

// batchPlan compares plans, but for how long they hold.
func (s *shadow) batchPlan(set *Set, st *abi.State, active *abi.BatchPlan, a answer) {
	if !s.sees() {
		return
	}
	var mine abi.BatchPlan
	b := set.plan(s.v, st, &mine)
	if b == failed {
		return
	}
	theirs := *active
	theirs.HoldSteps, mine.HoldSteps = 0, 0
	w := wouldAbstain
	if b == decided {
		w = compareCaps(mine.MaxSeqs, theirs.MaxSeqs)
	}
	agree := mine == theirs && (a == decided) == (b == decided)
	s.count(EntryBatchCap, w, agree)
	if !agree {
		s.note(EntryBatchCap, st, 0, opinion{answer: a, batch: theirs}, opinion{answer: b, batch: mine})
	}
}

// compareCaps compares limits, of which 0 is none.
func compareCaps(mine, theirs uint32) would {
	switch {
	case mine == theirs:
		return wouldKeep
	case least(mine, theirs) == mine:
		return wouldLower
	}
	return wouldRaise
}

// speculate compares plans and the k of each row, but for how long they hold.
func (s *shadow) speculate(set *Set, st *abi.State, rows []abi.Row, active *abi.SpecPlan, each []int32, a answer) {
	if !s.sees() {
		return
	}
	var mine abi.SpecPlan
	k := s.k[:len(rows)]
	b := set.draft(s.v, st, rows, &mine, k)
	if b == failed {
		return
	}
	theirs := *active
	theirs.HoldSteps, mine.HoldSteps = 0, 0
	agree, request := mine == theirs && (a == decided) == (b == decided), uint64(0)
	x, y := opinion{answer: a, spec: theirs, k: -1}, opinion{answer: b, spec: mine, k: -1}
	w := wouldAbstain
	if b == decided {
		w = wouldStop
		if mine.K > 0 {
			w = wouldDraft
		}
	}
	for i := range rows {
		if b == decided && k[i] > 0 {
			w = wouldDraft
		}
		if agree && b == decided && k[i] != each[i] {
			agree, request, x.k, y.k = false, rows[i].ID, each[i], k[i]
		}
	}
	s.count(EntrySpeculate, w, agree)
	if !agree {
		s.note(EntrySpeculate, st, request, x, y)
	}
}
