package plugins

import "github.com/sluice-dev/sluice/plugins/abi"

// BatchPlan implements abi.Decider: the strictest of each field. The plan holds for as long as the shortest one, and not
// at all when a policy of the chain had no opinion, since that policy was not asked about the steps to come.
// by is the first policy that decided.
func (s *Set) BatchPlan(st *abi.State, out *abi.BatchPlan) (ok bool, by abi.PolicyID) {
	*out = abi.BatchPlan{}
	s.host.samples.keep(EntryBatchCap, st, nil)
	c := newChained()
	for i := range s.batch {
		l := &s.batch[i]
		var p abi.BatchPlan
		a := s.plan(l.version, st, &p)
		if l.beside != nil {
			l.beside.batchPlan(s, st, &p, a)
		}
		if l.version == nil {
			continue
		}
		if a == decided {
			smaller(out, &p)
		}
		c.add(l.id, a, p.HoldSteps)
	}
	out.HoldSteps = c.holdSteps()
	return c.ok, c.by
}

// plan asks one policy for a batch plan.
func (s *Set) plan(v *version, st *abi.State, p *abi.BatchPlan) answer {
	g, a := s.ask(v, EntryBatchCap, st, nil, 0, abi.BatchPlanSize)
	if a != decided {
		return a
	}
	copy(abi.Bytes(p), g.call.View)
	if err := checkBatchPlan(p); err != nil {
		s.reject(v, EntryBatchCap, err, st.NowNS)
		*p = abi.BatchPlan{}
		return failed
	}
	return decided
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
	s.host.samples.keep(EntrySpeculate, st, rows)
	c := newChained()
	each := s.scratch.k[:n]
	for i := range s.spec {
		l := &s.spec[i]
		var p abi.SpecPlan
		a := s.draft(l.version, st, rows, &p, each)
		if l.beside != nil {
			l.beside.speculate(s, st, rows, &p, each, a)
		}
		if l.version == nil {
			continue
		}
		switch {
		case a == decided && c.ok:
			fewer(out, k, &p, each)
		case a == decided:
			*out = p
			copy(k, each)
		}
		c.add(l.id, a, p.HoldSteps)
	}
	out.HoldSteps = c.holdSteps()
	return c.ok, c.by
}

// draft asks one policy for a speculation plan.
func (s *Set) draft(v *version, st *abi.State, rows []abi.Row, p *abi.SpecPlan, k []int32) answer {
	n := len(rows)
	g, a := s.ask(v, EntrySpeculate, st, abi.SliceBytes(rows), n, specSize(n))
	if a != decided {
		return a
	}
	copy(abi.Bytes(p), g.call.View)
	copy(abi.SliceBytes(k), g.call.View[abi.SpecPlanSize:])
	if err := checkSpecPlan(p, k); err != nil {
		s.reject(v, EntrySpeculate, err, st.NowNS)
		*p = abi.SpecPlan{}
		return failed
	}
	return decided
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
