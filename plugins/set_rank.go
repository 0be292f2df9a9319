package plugins

import (
	"cmp"
	"sort"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Prioritize implements abi.Decider. One policy's ranking is passed on as it is. The scores of several compare in chain
// order, and so do their victim ranks; a row is pinned or protected when one of them says so, and may preempt when all do.
// by is the first policy that ranked.
func (s *Set) Prioritize(st *abi.State, rows []abi.Row, out []abi.Ranking) (ok bool, by abi.PolicyID) {
	n := len(rows)
	s.host.samples.keep(EntryPrioritize, st, rows)
	next := s.scratch.rankings[:n]
	for i := range s.prioritize {
		l := &s.prioritize[i]
		a := s.rank(l.version, st, rows, next)
		if l.beside != nil {
			l.beside.prioritize(s, st, rows, next, a)
		}
		switch {
		case a == decided && !ok:
			copy(out, next)
			ok, by = true, l.id
		case a == decided:
			s.refine(out, next)
		case a == failed && by == abi.Native:
			by = -l.id
		}
	}
	return ok, by
}

// rank asks one policy to rank rows.
func (s *Set) rank(v *version, st *abi.State, rows []abi.Row, into []abi.Ranking) answer {
	n := len(rows)
	g, a := s.ask(v, EntryPrioritize, st, abi.SliceBytes(rows), n, uint32(n)*abi.RankingSize)
	if a != decided {
		return a
	}
	copy(abi.SliceBytes(into), g.call.View)
	if err := checkRankings(into); err != nil {
		s.reject(v, EntryPrioritize, err, st.NowNS)
		return failed
	}
	return decided
}

// refine breaks the ties of sum by next.
func (s *Set) refine(sum, next []abi.Ranking) {
	x := &s.scratch.lex
	x.collapse(sum, next, func(r *abi.Ranking) *int64 { return &r.Score })
	x.collapse(sum, next, func(r *abi.Ranking) *int64 { return &r.VictimRank })
	for i := range sum {
		const both = uint32(abi.RankFlagMayPreempt)
		sum[i].Flags = (sum[i].Flags|next[i].Flags)&^both | sum[i].Flags&next[i].Flags&both
	}
}

// lex orders rows by a pair of values.
type lex struct {
	order [abi.MaxRows]int32
	a, b  [abi.MaxRows]int64
	n     int
}

// collapse replaces a value of sum by the dense rank of (sum's, next's).
func (x *lex) collapse(sum, next []abi.Ranking, field func(*abi.Ranking) *int64) {
	x.n = len(sum)
	for i := range sum {
		x.order[i], x.a[i], x.b[i] = int32(i), *field(&sum[i]), *field(&next[i])
	}
	sort.Sort(x)
	rank := int64(0)
	for j := range x.n {
		if j > 0 && x.compare(j-1, j) != 0 {
			rank++
		}
		*field(&sum[x.order[j]]) = rank
	}
}

func (x *lex) compare(i, j int) int {
	p, q := x.order[i], x.order[j]
	return cmp.Or(cmp.Compare(x.a[p], x.a[q]), cmp.Compare(x.b[p], x.b[q]))
}

// Len, Less and Swap implement sort.Interface on the positions.
func (x *lex) Len() int           { return x.n }
func (x *lex) Less(i, j int) bool { return x.compare(i, j) < 0 }
func (x *lex) Swap(i, j int)      { x.order[i], x.order[j] = x.order[j], x.order[i] }
