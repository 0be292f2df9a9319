// Class-priority serves the more important class first, without ever starving the others.
//
// It ranks what waits and, as possible victims, what runs:
//
//   - Class 0 goes first. For every age_step that it waits a request counts as one class better, without end: whatever
//     arrives more than (class + 1) steps after a request cannot go before it. What runs keeps the level that it had waited
//     for until its first token.
//   - Within one level the client's priority decides (lower first), then arrival.
//   - A waiting request may take the place of a running one when that is of a less important class AND still of a worse
//     level after ageing. Neither a better client priority nor an earlier arrival is reason enough, or two requests could
//     push each other out for ever. The best request that can do so goes first: the others would wait on anyway.
//   - Victims: the least important class first, in it the latest arrival. Whoever was preempted preempt_limit times is not
//     preempted again to make room.
//
// Settings:
//
//	age_step       5s    ageing, 100ms to 24h
//	preempt        true  whether a waiting request may take a running one's place
//	preempt_limit  4     0 to 100; the host itself gives a request up after its own limit, 8 unless configured
//
//	sluice policy push class-priority.wasm --set age_step=10s
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	ageStep int64 // ns
	preempt bool
	limit   uint32
}

// Reads declares what the policy looks at beside what is always there.
func (p *policy) Reads() sluice.Group { return sluice.GroupRowKV | sluice.GroupRowTimes }

// Configure implements sluice.Configurer.
func (p *policy) Configure(c *sluice.Config) error {
	p.ageStep = c.Duration("age_step", 5*sluice.Second, sluice.Second/10, 24*sluice.Hour)
	p.preempt = c.Bool("preempt", true)
	p.limit = uint32(c.Int("preempt_limit", 4, 0, 100))
	return nil
}

// Prioritize implements sluice.Prioritizer.
func (p *policy) Prioritize(_ *sluice.State, rows []sluice.Row, out []sluice.Ranking) bool {
	var v victims
	v.begin()
	for i := range rows {
		if r := &rows[i]; r.In(sluice.PhaseRunning) {
			p.rankRunning(r, &out[i])
			if p.preempt && r.Preemptions < p.limit {
				v.add(r.ClassIndex(), out[i].Score>>levelShift)
			}
		}
	}
	v.end()
	if head, claimant := p.rankQueue(rows, out, &v); claimant >= 0 {
		level := out[claimant].Score >> levelShift
		if claimant != head {
			out[claimant].Score = out[head].Score - 1
		}
		out[claimant].Allow(sluice.RankFlagMayPreempt)
		shield(rows, out, rows[claimant].ClassIndex(), level, out[claimant].Score)
	}
	return true
}

// rankQueue ranks what does not run, and returns the row that goes first and the first one that has a victim; -1 for none.
func (p *policy) rankQueue(rows []sluice.Row, out []sluice.Ranking, v *victims) (head, claimant int) {
	head, claimant = -1, -1
	for i := range rows {
		r, o := &rows[i], &out[i]
		if r.In(sluice.PhaseRunning) {
			continue
		}
		p.rankWaiting(r, o)
		if !r.In(sluice.PhaseQueued) {
			continue
		}
		if head < 0 || o.Score < out[head].Score {
			head = i
		}
		if v.of(r.ClassIndex(), o.Score>>levelShift) && (claimant < 0 || o.Score < out[claimant].Score) {
			claimant = i
		}
	}
	return head, claimant
}

func (p *policy) rankWaiting(r *sluice.Row, out *sluice.Ranking) {
	age := max(r.AgeNS, 0)
	out.Score = score(p.level(r, age), r.Priority, age)
}

// rankRunning scores what runs at the best of its level, so that no request of the same level is strictly better.
func (p *policy) rankRunning(r *sluice.Row, out *sluice.Ranking) {
	age := max(r.AgeNS, 0)
	waited := age
	if r.Has(sluice.RowHasFirstTokenNS) {
		waited = min(max(r.FirstTokenNS-r.ArrivalNS, 0), age)
	}
	out.Score = p.level(r, waited) << levelShift
	out.VictimRank = victimRank(r.ClassIndex(), age)
	if r.Preemptions >= p.limit {
		out.Allow(sluice.RankFlagPinned)
	}
}

// shield keeps what a claimant of that class and level may not displace from scoring worse than it.
func shield(rows []sluice.Row, out []sluice.Ranking, class int, level, score int64) {
	for i := range rows {
		if rows[i].In(sluice.PhaseRunning) && (rows[i].ClassIndex() <= class || out[i].Score>>levelShift <= level) {
			out[i].Score = min(out[i].Score, score)
		}
	}
}

// level is the class after ageing; lower is better, and it has no lower end that anyone would reach.
func (p *policy) level(r *sluice.Row, waited int64) int64 {
	return max(int64(r.ClassIndex())-waited/p.ageStep, minLevel)
}

var (
	_ sluice.FieldReader = (*policy)(nil)
	_ sluice.Configurer  = (*policy)(nil)
	_ sluice.Prioritizer = (*policy)(nil)
)

func init() { sluice.Register(&policy{}) }

func main() {}
