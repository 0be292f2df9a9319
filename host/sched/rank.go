package sched

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// rankedWaiting is how many waiting requests are always shown to a ranking, however many run.
const rankedWaiting = abi.MaxRows / 2

// rank asks the policies for the order in which waiting requests that never ran should enter. Preempted ones are not in it: they come
// before it. The scores stay in the requests for the choice of victims.
func (c *Core) rank(f *filling) {
	for _, r := range c.running {
		r.core.score, r.core.victim, r.core.flags = 0, 0, abi.RankFlagPinned
	}
	c.ranked = c.ranked[:0]
	if len(c.waiting) > 0 && c.hooks.Has(abi.HookPrioritize) {
		f.rankBy = c.askRanking(f.now)
	}
	f.unranked = len(c.waiting) - len(c.ranked)
	c.pinAged()
}

// askRanking has the policies rank what runs and the first of what waits. The latter it leaves in c.ranked, best first.
func (c *Core) askRanking(now int64) abi.PolicyID {
	nRun := min(len(c.running), abi.MaxRows-min(len(c.waiting), rankedWaiting))
	nWait := min(len(c.waiting), abi.MaxRows-nRun)
	shown := append(c.pick[:0], c.waiting[:nWait]...)
	shown = append(shown, c.running[len(c.running)-nRun:]...)
	c.pick = shown
	for i, r := range shown {
		phase := abi.PhaseQueued
		if r.core.place == placeRunning {
			phase = abi.PhaseRunning
		}
		c.fillRow(&c.rows[i], r, now, phase)
		c.ranks[i] = abi.Ranking{}
	}
	decided, by := c.policy.Prioritize(&c.state, c.rows[:len(shown)], c.ranks[:len(shown)])
	if !decided {
		return by
	}
	for i, r := range shown {
		k := &c.ranks[i]
		r.core.score, r.core.victim, r.core.flags = k.Score, k.VictimRank, abi.RankFlag(k.Flags)
	}
	c.ranked = append(c.ranked, shown[:nWait]...)
	sortUnlessSorted(c.ranked, func(a, b *Request) int { return cmp.Compare(a.core.score, b.core.score) })
	return by
}

// queue is the waiting requests that never ran, in the order in which they should enter: the policies', then the native one, with
// those in between whose turn it is by age. It is a copy, since requests leave the queue while it is walked, and empty
// while the batch is full, since nobody then needs it.
func (c *Core) queue(f *filling) []*Request {
	if f.ordered || len(c.running) >= f.lim.seqs {
		return f.order
	}
	c.order = append(append(c.order[:0], c.ranked...), c.waiting[len(c.waiting)-f.unranked:]...)
	f.order, f.ordered = c.order, true
	c.lift(f, f.order)
	return f.order
}

// byRank is the running requests in the order in which they may claim KV blocks: best score first, then who ran first.
// It is a copy: what it lists may be preempted while it is walked.
func (c *Core) byRank() []*Request {
	order := append(c.pick[:0], c.running...)
	c.pick = order
	sortUnlessSorted(order, func(a, b *Request) int {
		return cmp.Or(cmp.Compare(a.core.score, b.core.score), cmp.Compare(a.Scheduled, b.Scheduled), cmp.Compare(a.ID, b.ID))
	})
	return order
}

// sortUnlessSorted keeps the order of equals. From one step to the next the order seldom changes, and looking is cheaper than sorting.
func sortUnlessSorted(list []*Request, by func(a, b *Request) int) {
	if !slices.IsSortedFunc(list, by) {
		slices.SortStableFunc(list, by)
	}
}

// ranAfter reports whether v came into the batch after r: the tie-break among running requests. It never lets a request
// take blocks back from the one that took them.
func ranAfter(v, r *Request) bool {
	return v.Scheduled > r.Scheduled || v.Scheduled == r.Scheduled && v.ID > r.ID
}
