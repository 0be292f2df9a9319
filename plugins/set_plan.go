package plugins

import "github.com/sluice-dev/sluice/plugins/abi"

// BatchPlan implements abi.Decider: the strictest of each field. The plan holds for as long as the shortest one, and not
// at all when a policy of the chain had no opinion, since that policy was not asked about the steps to come.
// by is the first policy that decided.
func (s *Set) BatchPlan(st *abi.State, out *abi.BatchPlan) (ok bool, by abi.PolicyID) {
	*out = abi.BatchPlan{}
	c := newChained()
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
		if a == decided {
			smaller(out, &p)
		}
		c.add(v.id, a, p.HoldSteps)
	}
	out.HoldSteps = c.holdSteps()
	return c.ok, c.by
}

// chained is how far the plans of a chain have come: who decided, and for how long that holds.
type chained struct {
	ok   bool
	by   abi.PolicyID // the first that decided, or while none has, the first that failed, negated
	hold uint32
}

func newChained() chained { return chained{hold: ^uint32(0)} }

func (c *chained) add(id abi.PolicyID, a answer, hold uint32) {
	switch {
	case a == decided:
		if !c.ok {
			c.ok, c.by = true, id
		}
		c.hold = min(c.hold, hold)
		return
	case a == failed && c.by == abi.Native:
		c.by = -id
	}
	c.hold = 0
}

func (c *chained) holdSteps() uint32 {
	if !c.ok {
		return 0
	}
	return c.hold
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
	c := newChained()
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
		switch {
		case a == decided && c.ok:
			fewer(out, k, &p, each)
		case a == decided:
			*out = p
			copy(k, each)
		}
		c.add(v.id, a, p.HoldSteps)
	}
	out.HoldSteps = c.holdSteps()
	return c.ok, c.by
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
