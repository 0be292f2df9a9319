package sched

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// rankedWaiting is how many waiting requests are always shown to a ranking, however many run.
const rankedWaiting = abi.MaxRows / 2

// rank returns the waiting requests that never ran in the order in which they should enter. Preempted ones are not in
// it: they come before it. The scores stay in the requests for the choice of victims.
func (c *Core) rank(now int64) ([]*Request, abi.PolicyID) {
	for _, r := range c.running {
		r.core.score, r.core.victim, r.core.flags = 0, 0, abi.RankFlagPinned
	}
	// A copy: requests leave the queue while the order is walked.
	order := append(c.order[:0], c.waiting...)
	c.order = order
	if len(order) == 0 || !c.hooks.Has(abi.HookPrioritize) {
		return order, abi.Native
	}
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
		return order, by
	}
	for i, r := range shown {
		k := &c.ranks[i]
		r.core.score, r.core.victim, r.core.flags = k.Score, k.VictimRank, abi.RankFlag(k.Flags)
	}
	sortStable(order[:nWait], func(a, b *Request) bool { return a.core.score < b.core.score })
	return order, by
}

// byRank is the running requests in the order in which they may claim KV blocks: best score first, then who ran first.
// It is a copy: what it lists may be preempted while it is walked.
func (c *Core) byRank(f *filling) []*Request {
	order := append(c.pick[:0], c.running...)
	c.pick = order
	if f.rankBy != abi.Native {
		sortStable(order, func(a, b *Request) bool { return a.core.score < b.core.score })
	}
	return order
}

func sortStable(list []*Request, less func(a, b *Request) bool) {
	slices.SortStableFunc(list, func(a, b *Request) int {
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	})
}

// ranAfter reports whether v came into the batch after r: the tie-break among running requests. It never lets a request
// take blocks back from the one that took them.
func ranAfter(v, r *Request) bool {
	return v.Scheduled > r.Scheduled || v.Scheduled == r.Scheduled && v.ID > r.ID
}
