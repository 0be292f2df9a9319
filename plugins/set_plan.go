package plugins

import "github.com/sluice-dev/sluice/plugins/abi"

// BatchPlan implements abi.Decider: the strictest of each field. The plan holds for as long as the shortest one, and not
// at all when a policy of the chain had no opinion, since that policy was not asked about the steps to come.
// by is the first policy that decided.
func (s *Set) BatchPlan(st *abi.State, out *abi.BatchPlan) (ok bool, by abi.PolicyID) {
	*out = abi.BatchPlan{}
	hold := ^uint32(0)
	for _, v := range s.batch {
		g, a := s.ask(v, EntryBatchCap, st, nil, 0, abi.BatchPlanSize)
		var p abi.BatchPlan
		if a == decided {
			copy(abi.Bytes(&p), g.call.View)
			if err := checkBatchPlan(&p); err != nil {
				s.reject(v, EntryBatchCap, err, st.NowNS)
				a = failed
			}
		}
		switch a {
		case decided:
			smaller(out, &p)
			hold = min(hold, p.HoldSteps)
			if !ok {
				ok, by = true, v.id
			}
			continue
		case failed:
			if by == abi.Native {
				by = -v.id
			}
		}
		hold = 0
	}
	if ok {
		out.HoldSteps = hold
	}
	return ok, by
}

// smaller combines a plan with those before it. 0 is no limit; places kept free are the more the stricter.
func smaller(sum, p *abi.BatchPlan) {
	sum.MaxSeqs = least(sum.MaxSeqs, p.MaxSeqs)
	sum.MaxBatchedTokens = least(sum.MaxBatchedTokens, p.MaxBatchedTokens)
	sum.PrefillBudgetTokens = least(sum.PrefillBudgetTokens, p.PrefillBudgetTokens)
	sum.ChunkTokens = least(sum.ChunkTokens, p.ChunkTokens)
	sum.KVAdmitCeilingPPM = least(sum.KVAdmitCeilingPPM, p.KVAdmitCeilingPPM)
	sum.ReserveSeqs = max(sum.ReserveSeqs, p.ReserveSeqs)
	for c := range sum.ClassMaxSeqs {
		sum.ClassMaxSeqs[c] = least(sum.ClassMaxSeqs[c], p.ClassMaxSeqs[c])
	}
}

// Speculate implements abi.Decider: the fewest drafts for each row. Holding and by are as in BatchPlan.
func (s *Set) Speculate(st *abi.State, rows []abi.Row, out *abi.SpecPlan, k []int32) (ok bool, by abi.PolicyID) {
	*out = abi.SpecPlan{}
	n := len(rows)
	hold := ^uint32(0)
	for _, v := range s.spec {
		g, a := s.ask(v, EntrySpeculate, st, abi.SliceBytes(rows), n, specSize(n))
		var p abi.SpecPlan
		each := s.scratch.k[:n]
		if a == decided {
			copy(abi.Bytes(&p), g.call.View)
			copy(abi.SliceBytes(each), g.call.View[abi.SpecPlanSize:])
			if err := checkSpecPlan(&p, each); err != nil {
				s.reject(v, EntrySpeculate, err, st.NowNS)
				a = failed
			}
		}
		switch a {
		case decided:
			if !ok {
				ok, by = true, v.id
				*out = p
				copy(k, each)
			} else {
				fewer(out, k, &p, each)
			}
			hold = min(hold, p.HoldSteps)
			continue
		case failed:
			if by == abi.Native {
				by = -v.id
			}
		}
		hold = 0
	}
	if ok {
		out.HoldSteps = hold
	}
	return ok, by
}

// fewer combines a plan with those before it. The shortest n-gram that may match is the stricter the longer it is.
func fewer(sum *abi.SpecPlan, k []int32, p *abi.SpecPlan, each []int32) {
	effective := func(k int32, plan uint32) int32 {
		if k < 0 {
			return int32(plan)
		}
		return k
	}
	for i := range k {
		k[i] = min(effective(k[i], sum.K), effective(each[i], p.K))
	}
	sum.K = min(sum.K, p.K)
	sum.VerifySlots = least(sum.VerifySlots, p.VerifySlots)
	sum.NgramMin = max(sum.NgramMin, p.NgramMin)
	sum.NgramMax = least(sum.NgramMax, p.NgramMax)
	if sum.NgramMax > 0 {
		sum.NgramMax = max(sum.NgramMax, sum.NgramMin)
	}
	sum.Probe = min(sum.Probe, p.Probe)
}
