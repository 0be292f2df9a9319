package plugins

import "github.com/sluice-dev/sluice/plugins/abi"

// Admit implements abi.Decider: the first REJECT of the chain ends a row's admission, and limits combine to the strictest.
// An override of class or priority is no limit: the last policy's counts.
func (s *Set) Admit(st *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	clear(out)
	clear(by)
	shown, index := rows, s.scratch.index[:len(rows)]
	for i := range index {
		index[i] = int32(i)
	}
	s.host.samples.keep(EntryAdmit, st, rows)
	for i := range s.admit {
		if len(shown) == 0 {
			return
		}
		l := &s.admit[i]
		verdicts := s.scratch.verdicts[:len(shown)]
		a := s.judge(l.version, st, shown, verdicts)
		if l.beside != nil {
			l.beside.admit(s, st, shown, verdicts, a)
		}
		switch {
		case l.version == nil:
		case a == failed:
			for _, i := range index {
				if by[i] == abi.Native {
					by[i] = -l.id
				}
			}
		case combine(l.id, verdicts, index, out, by):
			shown, index = s.undecided(rows, index, out)
		}
	}
}

// judge asks one policy about rows. What has no opinion, or failed, leaves zeros.
func (s *Set) judge(v *version, st *abi.State, rows []abi.Row, verdicts []abi.Verdict) answer {
	n := len(rows)
	g, a := s.ask(v, EntryAdmit, st, abi.SliceBytes(rows), n, uint32(n)*abi.VerdictSize)
	if a != decided {
		clear(verdicts)
		return a
	}
	copy(abi.SliceBytes(verdicts), g.call.View)
	if err := checkVerdicts(verdicts); err != nil {
		s.reject(v, EntryAdmit, err, st.NowNS)
		clear(verdicts)
		return failed
	}
	return decided
}

// combine adds one policy's verdicts to those before it, and reports whether it rejected a row.
func combine(id abi.PolicyID, verdicts []abi.Verdict, index []int32, out []abi.Verdict, by []abi.PolicyID) (rejected bool) {
	for j := range verdicts {
		v, i := &verdicts[j], index[j]
		switch abi.Action(v.Action) {
		case abi.ActionAbstain:
			continue
		case abi.ActionReject:
			rejected = true
			out[i] = *v
		default:
			stricter(&out[i], v)
		}
		by[i] = id
	}
	return rejected
}

// stricter combines an admission with those of earlier policies of the chain.
func stricter(sum, v *abi.Verdict) {
	if sum.Action == uint8(abi.ActionAbstain) {
		*sum = *v
		return
	}
	sum.Action = max(sum.Action, v.Action) // ADMIT < DEGRADE
	sum.QueueTTLMs = least(sum.QueueTTLMs, v.QueueTTLMs)
	sum.MaxTokensCap = least(sum.MaxTokensCap, v.MaxTokensCap)
	if sum.SpeculationCap < 0 || v.SpeculationCap >= 0 && v.SpeculationCap < sum.SpeculationCap {
		sum.SpeculationCap = v.SpeculationCap
	}
	if v.ClassOverride >= 0 {
		sum.ClassOverride = v.ClassOverride
	}
	if v.HasPriority == 1 {
		sum.PriorityOverride, sum.HasPriority = v.PriorityOverride, 1
	}
	if v.Reason != uint16(abi.ReasonNone) {
		sum.Reason = v.Reason
	}
}

// undecided gathers the rows that nobody has rejected, for the rest of the chain.
func (s *Set) undecided(rows []abi.Row, index []int32, out []abi.Verdict) ([]abi.Row, []int32) {
	n := 0
	for _, i := range index {
		if out[i].Action != uint8(abi.ActionReject) {
			s.scratch.rows[n] = rows[i]
			index[n] = i
			n++
		}
	}
	return s.scratch.rows[:n], index[:n]
}

// least is the smaller of two limits, of which 0 is none.
func least(a, b uint32) uint32 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
