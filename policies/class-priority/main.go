// Class-priority serves the more important class first, without ever starving the others.
//
// It ranks what waits and, as possible victims, what runs:
//
//   - Class 0 goes first. For every age_step since its arrival a request counts as one class better, without end: whatever
//     arrives more than (class + 1) steps after a request cannot go before it.
//   - Within one level the client's priority decides (lower first), then arrival.
//   - The best waiting request may take the place of a running one when that is of a less important class AND still of a
//     worse level after ageing. Neither a better client priority nor an earlier arrival is reason enough, or two requests
//     could push each other out for ever.
//   - Victims: the least important class first, in it the latest arrival. Whoever was preempted preempt_limit times is not
//     preempted again to make room.
//
// Settings:
//
//	age_step       5s    ageing, 100ms to 24h
//	preempt        true  whether a waiting request may take a running one's place
//	preempt_limit  2     0 to 100
//
//	sluice policy push class-priority.wasm --set age_step=10s
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	ageStep int64 // ns
	preempt bool
	limit   uint32
}

// Configure implements sluice.Configurer.
func (p *policy) Configure(c *sluice.Config) error {
	p.ageStep = c.Duration("age_step", 5*sluice.Second, sluice.Second/10, 24*sluice.Hour)
	p.preempt = c.Bool("preempt", true)
	p.limit = uint32(c.Int("preempt_limit", 2, 0, 100))
	return nil
}

// Prioritize implements sluice.Prioritizer.
func (p *policy) Prioritize(_ *sluice.State, rows []sluice.Row, out []sluice.Ranking) bool {
	head := -1 // the waiting row that goes first
	for i := range rows {
		r := &rows[i]
		age := max(r.AgeNS, 0)
		if r.In(sluice.PhaseRunning) {
			out[i].VictimRank = victimRank(r.ClassIndex(), age)
			if r.Preemptions >= p.limit {
				out[i].Allow(sluice.RankFlagPinned)
			}
			continue
		}
		out[i].Score = score(p.level(r, age), r.Priority, age)
		if r.In(sluice.PhaseQueued) && (head < 0 || out[i].Score < out[head].Score) {
			head = i
		}
	}
	p.rankRunning(rows, out, head)
	return true
}

// rankRunning scores what runs at the best of its level, so that no request of the same level is strictly better, and keeps
// what the head may not displace from scoring worse than the head.
func (p *policy) rankRunning(rows []sluice.Row, out []sluice.Ranking, head int) {
	class, best := sluice.Classes, int64(maxLevel)<<levelShift
	if head >= 0 {
		class, best = rows[head].ClassIndex(), out[head].Score>>levelShift<<levelShift
	}
	for i := range rows {
		r := &rows[i]
		if !r.In(sluice.PhaseRunning) {
			continue
		}
		s := p.level(r, max(r.AgeNS, 0)) << levelShift
		if r.ClassIndex() <= class {
			s = min(s, best)
		} else if s > best && p.preempt && sluice.RankFlag(out[i].Flags)&sluice.RankFlagPinned == 0 {
			out[head].Allow(sluice.RankFlagMayPreempt)
		}
		out[i].Score = s
	}
}

// level is the class after ageing; lower is better, and it has no lower end that anyone would reach.
func (p *policy) level(r *sluice.Row, age int64) int64 {
	return max(int64(r.ClassIndex())-age/p.ageStep, minLevel)
}

var (
	_ sluice.Configurer  = (*policy)(nil)
	_ sluice.Prioritizer = (*policy)(nil)
)

func init() { sluice.Register(&policy{}) }

func main() {}
