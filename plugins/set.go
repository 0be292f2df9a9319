package plugins

import (
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Set is the policies in force during a step: a chain at each hook, in the order in which the policies were configured.
// It never changes; a change of policies makes another Set. All sets of a Host share their scratch memory, so only the
// goroutine that calls Host.Swap may ask one, and only the one that Swap returned last.
type Set struct {
	host  *Host
	epoch uint32
	hooks abi.Hook
	reads abi.Group

	all                                     []*version
	shadows                                 []*shadow
	admit, prioritize, batch, spec, observe []link
	scratch                                 *scratch
}

// link is one policy's place in the chain of a hook.
type link struct {
	*version         // nil: a place without a policy has no opinion
	beside   *shadow // is asked the same; nil for none
}

// scratch is where answers are checked and chains combined.
type scratch struct {
	verdicts [abi.MaxRows]abi.Verdict
	rankings [abi.MaxRows]abi.Ranking
	rows     [abi.MaxRows]abi.Row
	index    [abi.MaxRows]int32 // of rows, in the caller's
	k        [abi.MaxRows]int32
	lex      lex
}

// newSet chains what decides, and what stands beside it.
func newSet(h *Host, slots []slot) *Set {
	s := &Set{host: h, scratch: h.scratch}
	for i := range slots {
		v, beside := slots[i].deciding(), slots[i].shadow
		if v != nil {
			s.all = append(s.all, v)
			s.join(v)
		}
		if slots[i].watching() {
			s.shadows = append(s.shadows, beside)
			s.join(beside.v)
		} else {
			beside = nil
		}
		for _, c := range []struct {
			hook  abi.Hook
			chain *[]link
		}{{abi.HookAdmit, &s.admit}, {abi.HookPrioritize, &s.prioritize}, {abi.HookBatchCap, &s.batch},
			{abi.HookSpeculate, &s.spec}, {abi.HookEvents, &s.observe}} {
			var l link
			if v != nil && v.hooks.Has(c.hook) {
				l.version = v
			}
			if beside != nil && beside.v.hooks.Has(c.hook) {
				l.beside = beside
			}
			if l != (link{}) {
				*c.chain = append(*c.chain, l)
			}
		}
	}
	return s
}

// join adds what a version is asked and reads to what the set is.
func (s *Set) join(v *version) {
	s.reads |= v.reads
	s.hooks |= v.hooks &^ (abi.HookConfigure | abi.HookState)
}

// Hooks implements abi.Decider.
func (s *Set) Hooks() abi.Hook { return s.hooks }

// Reads implements abi.Decider.
func (s *Set) Reads() abi.Group { return s.reads }

// Epoch rises by one with each set that came into force.
func (s *Set) Epoch() uint32 { return s.epoch }

// answer is what came of asking one policy.
type answer uint8

const (
	decided answer = iota
	abstained
	failed // counted; the native default stands in
)

// ask puts one question to one policy. The decision is in the guest's View until the next question.
func (s *Set) ask(v *version, e Entry, st *abi.State, data []byte, n int, out uint32) (*guest, answer) {
	if v == nil {
		return nil, abstained
	}
	g := v.takeSpare()
	if g == nil {
		s.host.fault(v, e, FaultNoInstance, nil, st.NowNS)
		return nil, failed
	}
	err := g.hook(e, st, data, n, out)
	v.stats.called(e, g.call.Used)
	if err != nil {
		s.host.fault(v, e, trapFault(err), err, st.NowNS)
		return nil, failed
	}
	switch abi.Return(g.call.Ret) {
	case abi.ReturnDecided:
		return g, decided
	case abi.ReturnAbstain:
		v.stats.abstained(e)
		return nil, abstained
	}
	s.host.fault(v, e, FaultBadReturn, fmt.Errorf("%v returned %d: 0 is decided, 1 is abstain", e, g.call.Ret), st.NowNS)
	return nil, failed
}

// reject voids an answer that the ABI does not allow.
func (s *Set) reject(v *version, e Entry, err error, now int64) {
	s.host.fault(v, e, FaultBadOutput, fmt.Errorf("%v: %w", e, err), now)
}

// Events implements abi.Decider.
func (s *Set) Events(st *abi.State, events []abi.Event) {
	for i := range s.observe {
		l := &s.observe[i]
		if l.version != nil {
			s.inform(l.version, st, events)
		}
		if l.beside != nil && l.beside.sees() {
			s.inform(l.beside.v, st, events)
		}
	}
}

// inform tells one policy of events, as many at a time as it has room for.
func (s *Set) inform(v *version, st *abi.State, events []abi.Event) {
	for rest := events; len(rest) > 0; {
		g := v.takeSpare()
		n := 1
		if g != nil {
			n = min(len(rest), int(g.lay.event.Len/abi.EventSize), abi.MaxRows)
		}
		if _, a := s.ask(v, EntryEvents, st, abi.SliceBytes(rest[:n]), n, 0); a == failed {
			return
		}
		rest = rest[n:]
	}
}

var _ abi.Decider = (*Set)(nil)
