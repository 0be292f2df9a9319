package sched

import "github.com/sluice-dev/sluice/plugins/abi"

// grow gives r the KV blocks for n tokens, if need be by preempting running requests that rank after it and are not yet
// in the batch. Nothing changes when it reports false but for what was preempted, which then waits with all its tokens.
func (c *Core) grow(f *filling, r *Request, n int) bool {
	need := c.blocksFor(n) - r.core.blocks
	if need <= 0 {
		return true
	}
	for need > c.kv.available() {
		v := c.victimFor(r)
		if v == nil {
			return false
		}
		c.preempt(f.now, v, true)
	}
	c.take(r, need)
	return true
}

// victimFor is whom r may push out to go on: the last in rank among those that rank after it. Unlike a newcomer it may
// push out its equals that came later, or two requests could wait for each other's blocks for ever.
func (c *Core) victimFor(r *Request) *Request {
	var worst *Request
	for _, v := range c.running {
		if v == r || v.core.flying || !ranksAfter(v, r) {
			continue
		}
		if worst == nil || c.preferVictim(v, worst) {
			worst = v
		}
	}
	return worst
}

func ranksAfter(v, r *Request) bool {
	if v.core.score != r.core.score {
		return v.core.score > r.core.score
	}
	return ranAfter(v, r)
}

// preferVictim reports whether v is preempted rather than w: a protected one late, a pinned one last; then by the policy's
// ranks; then the one that costs least to stop.
func (c *Core) preferVictim(v, w *Request) bool {
	const shields = abi.RankFlagPinned | abi.RankFlagProtected // a pinned one's value is the larger
	vs, ws := v.core.flags&shields, w.core.flags&shields
	switch {
	case vs != ws:
		return vs < ws
	case v.core.victim != w.core.victim:
		return v.core.victim > w.core.victim
	case v.core.score != w.core.score:
		return v.core.score > w.core.score
	}
	if c.lastChance(v) != c.lastChance(w) {
		return c.lastChance(w)
	}
	if a, b := c.preemptionCost(v), c.preemptionCost(w); a != b {
		return a < b
	}
	return ranAfter(v, w)
}

// lastChance tells whether the next preemption ends r.
func (c *Core) lastChance(r *Request) bool { return r.Preemptions >= c.cfg.MaxPreemptions }

// preempt takes seat and KV blocks from a running request. Its tokens stay known; their KV is saved where that is cheaper
// than to compute it again, and else stays cached as long as nothing needs the room. Unless keep is set it is lost.
func (c *Core) preempt(now int64, r *Request, keep bool) {
	ends, lost := c.lastChance(r), r.Computed
	if keep {
		lost = c.waste(r)
	}
	if keep && !ends && c.save(r) {
		lost = 0
	}
	c.vacateSeat(r, keep)
	r.Preemptions++
	c.stats.Preemptions++
	c.event(abi.EventKindPreempted, now, r, int64(lost))
	c.stop(now, r)
	if ends {
		r.Verdict = Verdict{Status: c.cfg.Statuses.Capacity, Reason: abi.ReasonCapacity, RetryAfter: c.retryAfter(), Limit: "preemptions"}
		c.end(now, r, OutcomePreemptFailed)
	}
}

// stop makes r, which has lost its sequence, wait to go on.
func (c *Core) stop(now int64, r *Request) {
	r.core.reached, r.Computed = r.Computed, 0
	c.requeue(now, r)
}

// clearPlace preempts one running request for the best waiting one, if a policy allows it, the victim is strictly worse,
// and the newcomer then runs in this very step (placeClaim): a victim of nothing would be one at every step.
func (c *Core) clearPlace(f *filling) {
	if len(c.ranked) == 0 || f.rankBy <= abi.Native {
		return
	}
	r := c.ranked[0]
	if !r.core.flags.Has(abi.RankFlagMayPreempt) || len(c.running) == 0 || len(c.running) > f.lim.seqs {
		return
	}
	noSeat, e := len(c.running) >= f.lim.seqs, c.wayIn(r)
	if !noSeat && e.need <= c.kv.available() || c.comesSoon(r, e) {
		return
	}
	growth := 0
	for _, v := range c.running {
		growth += c.decodeGrowth(v)
	}
	var worst *Request
	for _, v := range c.running {
		if v.core.score <= r.core.score || v.core.flags.Has(abi.RankFlagPinned) || !c.mayEnter(f, r, v) {
			continue
		}
		// What r finds cached may be v's own or go before r enters, so it counts for nothing here.
		if c.entryBlocks(r)+growth-c.decodeGrowth(v) > c.kv.available()+c.kv.own(v) {
			continue
		}
		if worst == nil || c.preferVictim(v, worst) {
			worst = v
		}
	}
	if worst != nil {
		c.preempt(f.now, worst, true)
		f.claim = r
	}
}

// decodeGrowth is the number of KV blocks that r takes in this step to produce its next token. A prefill has its blocks.
func (c *Core) decodeGrowth(r *Request) int {
	if r.known()-r.Computed > 1 {
		return 0
	}
	return max(0, c.blocksFor(r.known())-r.core.blocks)
}
