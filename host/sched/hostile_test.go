package sched_test

import (
	"math"
	"math/rand/v2"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// hostile is a policy set that means no good. What it answers at a hook is its kind's.
type hostile struct {
	kind  hostility
	id    abi.PolicyID
	hooks abi.Hook
	rng   *rand.Rand
	heard map[abi.EventKind]int
}

type hostility int

const (
	rejectAll   hostility = iota // at arrival and from the queue
	rejectLater                  // lets everybody in, and rejects what waits
	capZero                      // every limit 0, or beyond the host's
	capOne                       // every limit 1
	reversed                     // the newest first, the least important class first
	starve                       // class 0 first, for ever; all places are kept for it
	preemptAll                   // everybody may push out everybody, by chance
	holdForever                  // asks not to be asked again
	failing                      // was asked and failed
	abstains
	garbage // anything at all
	hostilities
)

const allHooks = abi.HookAdmit | abi.HookPrioritize | abi.HookBatchCap | abi.HookSpeculate | abi.HookEvents

func (h *hostile) Hooks() abi.Hook  { return h.hooks }
func (h *hostile) Reads() abi.Group { return abi.All }

func (h *hostile) u32() uint32 {
	return [...]uint32{0, 1, 2, 5, 40, 1 << 31, math.MaxUint32, h.rng.Uint32()}[h.rng.IntN(8)]
}

func (h *hostile) Admit(_ *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	for i := range rows {
		out[i], by[i] = abi.Verdict{}, h.id
		queued := rows[i].Phase == uint8(abi.PhaseQueued)
		switch h.kind {
		case failing:
			by[i] = -h.id
		case abstains:
			by[i] = abi.Native
		case garbage:
			out[i] = abi.Verdict{
				Action: uint8(h.rng.IntN(4)), Status: [...]uint16{0, 429, 503, 529, 7}[h.rng.IntN(5)], Reason: uint16(h.rng.IntN(12)),
				RetryAfterMs: h.u32(), ClassOverride: int8(h.rng.IntN(20) - 2), SpeculationCap: int32(h.rng.IntN(5) - 1),
				MaxTokensCap: h.u32(), QueueTTLMs: h.u32(), HasPriority: uint8(h.rng.IntN(2)), PriorityOverride: int32(h.rng.IntN(5) - 2),
			}
		case rejectAll, rejectLater:
			if queued || h.kind == rejectAll {
				out[i] = abi.Verdict{Action: uint8(abi.ActionReject), Status: 429, Reason: uint16(abi.ReasonCapacity), RetryAfterMs: 7000}
			}
		}
	}
}

func (h *hostile) Prioritize(_ *abi.State, rows []abi.Row, out []abi.Ranking) (bool, abi.PolicyID) {
	for i := range rows {
		r := &rows[i]
		switch h.kind {
		case failing:
			return false, -h.id
		case abstains:
			return false, abi.Native
		case reversed:
			out[i] = abi.Ranking{Score: -int64(r.Class)<<40 - int64(r.ID), Flags: uint32(abi.RankFlagMayPreempt)}
		case starve:
			out[i] = abi.Ranking{Score: int64(r.Class), VictimRank: int64(r.Class), Flags: uint32(abi.RankFlagMayPreempt)}
		case preemptAll:
			out[i] = abi.Ranking{Score: h.rng.Int64N(7), VictimRank: h.rng.Int64N(7), Flags: uint32(abi.RankFlagMayPreempt)}
		case garbage:
			out[i] = abi.Ranking{Score: int64(h.rng.Uint64()), VictimRank: int64(h.rng.Uint64()), Flags: h.rng.Uint32()}
		}
	}
	return true, h.id
}

func (h *hostile) BatchPlan(_ *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	switch h.kind {
	case failing:
		return false, -h.id
	case abstains:
		return false, abi.Native
	case capZero:
		if h.rng.IntN(2) == 0 {
			*out = abi.BatchPlan{MaxSeqs: math.MaxUint32, MaxBatchedTokens: 1 << 31, PrefillBudgetTokens: 1 << 30, ChunkTokens: 1 << 30, KVAdmitCeilingPPM: math.MaxUint32}
		}
	case capOne:
		*out = abi.BatchPlan{MaxSeqs: 1, MaxBatchedTokens: 1, PrefillBudgetTokens: 1, ChunkTokens: 1, KVAdmitCeilingPPM: 1}
		for i := range out.ClassMaxSeqs {
			out.ClassMaxSeqs[i] = 1
		}
	case starve:
		*out = abi.BatchPlan{ReserveSeqs: math.MaxUint32}
	case holdForever:
		*out = abi.BatchPlan{MaxSeqs: 1, ReserveSeqs: 1, HoldSteps: math.MaxUint32}
	case garbage:
		*out = abi.BatchPlan{MaxSeqs: h.u32(), MaxBatchedTokens: h.u32(), PrefillBudgetTokens: h.u32(), ChunkTokens: h.u32(),
			KVAdmitCeilingPPM: h.u32(), ReserveSeqs: h.u32(), HoldSteps: h.u32() % 4}
		for i := range out.ClassMaxSeqs {
			out.ClassMaxSeqs[i] = h.u32()
		}
	}
	return true, h.id
}

func (h *hostile) Speculate(_ *abi.State, _ []abi.Row, out *abi.SpecPlan, k []int32) (bool, abi.PolicyID) {
	switch h.kind {
	case failing:
		return false, -h.id
	case abstains:
		return false, abi.Native
	case holdForever:
		*out = abi.SpecPlan{K: math.MaxUint32, HoldSteps: math.MaxUint32}
	case garbage:
		*out = abi.SpecPlan{K: h.u32(), VerifySlots: h.u32(), NgramMin: h.u32(), NgramMax: h.u32(), Probe: h.u32(), HoldSteps: h.u32() % 4}
		for i := range k {
			k[i] = int32(h.rng.Uint32())
		}
	default:
		*out = abi.SpecPlan{K: uint32(h.rng.IntN(6))}
	}
	return true, h.id
}

func (h *hostile) Events(_ *abi.State, events []abi.Event) {
	for i := range events {
		h.heard[abi.EventKind(events[i].Kind)]++
	}
}
