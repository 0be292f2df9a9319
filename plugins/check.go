package plugins

import (
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// What a policy may write is checked here; that a value exceeds the server's own limits is not malformed, and is the
// scheduler's to clamp. One malformed value voids the whole answer: half an answer was never decided by anyone.

func checkVerdicts(out []abi.Verdict) error {
	for i := range out {
		v := &out[i]
		if v.Action == uint8(abi.ActionAbstain) {
			*v = abi.Verdict{}
			continue
		}
		switch {
		case v.Action > uint8(abi.ActionDegrade):
			return bad(i, "action", int64(v.Action))
		case v.Action == uint8(abi.ActionReject) && !rejectStatus(v.Status):
			return bad(i, "status", int64(v.Status))
		case v.ClassOverride < -1 || v.ClassOverride >= abi.Classes:
			return bad(i, "class_override", int64(v.ClassOverride))
		case v.SpeculationCap < -1:
			return bad(i, "speculation_cap", int64(v.SpeculationCap))
		case v.HasPriority > 1:
			return bad(i, "has_priority", int64(v.HasPriority))
		}
	}
	return nil
}

func rejectStatus(s uint16) bool { return s == 0 || s == 429 || s == 503 || s == 529 }

func checkRankings(out []abi.Ranking) error {
	const known = abi.RankFlagMayPreempt | abi.RankFlagProtected | abi.RankFlagPinned
	for i := range out {
		if abi.RankFlag(out[i].Flags)&^known != 0 {
			return bad(i, "flags", int64(out[i].Flags))
		}
	}
	return nil
}

func checkBatchPlan(p *abi.BatchPlan) error {
	if p.KVAdmitCeilingPPM > 1_000_000 {
		return bad(-1, "kv_admit_ceiling_ppm", int64(p.KVAdmitCeilingPPM))
	}
	return nil
}

func checkSpecPlan(p *abi.SpecPlan, k []int32) error {
	switch {
	case p.K > abi.MaxDraft:
		return bad(-1, "k", int64(p.K))
	case p.Probe > 1:
		return bad(-1, "probe", int64(p.Probe))
	case p.NgramMin > 0 && p.NgramMax > 0 && p.NgramMin > p.NgramMax:
		return bad(-1, "ngram_min", int64(p.NgramMin))
	}
	for i, x := range k {
		if x < -1 || x > abi.MaxDraft {
			return bad(i, "k", int64(x))
		}
	}
	return nil
}

// bad names a malformed value. row is -1 for a plan.
func bad(row int, field string, value int64) error {
	if row < 0 {
		return fmt.Errorf("%s = %d is not allowed", field, value)
	}
	return fmt.Errorf("row %d: %s = %d is not allowed", row, field, value)
}
