package sched_test

import "github.com/sluice-dev/sluice/plugins/abi"

// answers is a policy of functions; what is nil is a hook that it does not have.
type answers struct {
	admit func(*abi.Row) abi.Verdict
	rank  func(*abi.Row) abi.Ranking
	batch func(*abi.State) abi.BatchPlan
	spec  func(*abi.State) abi.SpecPlan
}

func (a answers) Reads() abi.Group { return abi.All }

func (a answers) Hooks() (h abi.Hook) {
	for bit, has := range map[abi.Hook]bool{abi.HookAdmit: a.admit != nil, abi.HookPrioritize: a.rank != nil, abi.HookBatchCap: a.batch != nil, abi.HookSpeculate: a.spec != nil} {
		if has {
			h |= bit
		}
	}
	return h
}

func (a answers) Admit(_ *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	for i := range rows {
		out[i], by[i] = a.admit(&rows[i]), 1
	}
}

func (a answers) Prioritize(_ *abi.State, rows []abi.Row, out []abi.Ranking) (bool, abi.PolicyID) {
	for i := range rows {
		out[i] = a.rank(&rows[i])
	}
	return true, 1
}

func (a answers) BatchPlan(st *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	*out = a.batch(st)
	return true, 1
}

func (a answers) Speculate(st *abi.State, _ []abi.Row, out *abi.SpecPlan, _ []int32) (bool, abi.PolicyID) {
	*out = a.spec(st)
	return true, 1
}

// abstainer is asked how to speculate and has no opinion, though it wrote one.
type abstainer struct{ answers }

func (a abstainer) Speculate(st *abi.State, rows []abi.Row, out *abi.SpecPlan, k []int32) (bool, abi.PolicyID) {
	a.answers.Speculate(st, rows, out, k)
	return false, abi.Native
}

func (answers) Events(*abi.State, []abi.Event) {}

// policies are what the scripts can put in charge.
var policies = map[string]abi.Decider{
	"native": nil,
	"reject-all": answers{admit: func(*abi.Row) abi.Verdict {
		return abi.Verdict{Action: uint8(abi.ActionReject), Status: 429, Reason: uint16(abi.ReasonCapacity), RetryAfterMs: 7000}
	}},
	"shed-after-100ms": answers{admit: func(r *abi.Row) abi.Verdict {
		if r.Phase == uint8(abi.PhaseQueued) && r.WaitNS > 100e6 {
			return abi.Verdict{Action: uint8(abi.ActionReject), Reason: uint16(abi.ReasonQueueAge)}
		}
		return abi.Verdict{}
	}},
	"ttl-30ms": answers{admit: func(*abi.Row) abi.Verdict {
		return abi.Verdict{Action: uint8(abi.ActionAdmit), QueueTTLMs: 30, ClassOverride: -1, SpeculationCap: -1}
	}},
	"rejects-queued": answers{admit: func(r *abi.Row) abi.Verdict {
		if r.Phase == uint8(abi.PhaseQueued) {
			return abi.Verdict{Action: uint8(abi.ActionReject), Reason: uint16(abi.ReasonPriority)}
		}
		return abi.Verdict{}
	}},
	"newest-first": answers{rank: func(r *abi.Row) abi.Ranking { return abi.Ranking{Score: -int64(r.ID)} }},
	"class-first":  answers{rank: func(r *abi.Row) abi.Ranking { return abi.Ranking{Score: int64(r.Class)} }},
	"class-preempts": answers{rank: func(r *abi.Row) abi.Ranking {
		return abi.Ranking{Score: int64(r.Class), VictimRank: int64(r.Class), Flags: uint32(abi.RankFlagMayPreempt)}
	}},
	"one-at-a-time": answers{batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{MaxSeqs: 1} }},
	"cap-0":         answers{batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{} }},
	"nothing-enters": answers{batch: func(*abi.State) abi.BatchPlan {
		return abi.BatchPlan{MaxSeqs: 1, ReserveSeqs: 1 << 30}
	}},
	"draft-3":             answers{spec: func(*abi.State) abi.SpecPlan { return abi.SpecPlan{K: 3} }},
	"draft-99":            answers{spec: func(*abi.State) abi.SpecPlan { return abi.SpecPlan{K: 99} }},
	"draft-0":             answers{spec: func(*abi.State) abi.SpecPlan { return abi.SpecPlan{} }},
	"draft-3-for-a-while": answers{spec: func(*abi.State) abi.SpecPlan { return abi.SpecPlan{K: 3, HoldSteps: 2} }},
	"abstains":            abstainer{answers{spec: func(*abi.State) abi.SpecPlan { return abi.SpecPlan{K: 1} }}},
	"only-class-0":        answers{batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{ReserveSeqs: 1 << 30} }},
}
