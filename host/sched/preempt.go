package sched

import "github.com/sluice-dev/sluice/plugins/abi"

// grow gives r the KV blocks for n tokens, if need be by preempting running requests that rank after it and are not yet
// in the batch. Nothing changes when it reports false but for what was preempted, which then waits with all its tokens.
func (c *Core) grow(f *filling, r *Request, n int) bool {
	need := c.blocksFor(n) - r.core.blocks
	if need <= 0 {
		return true
	}
	for need > c.free {
		v := c.victimFor(r)
		if v == nil {
			return false
		}
		c.preempt(f.now, v)
	}
	c.free -= need
	r.core.blocks += need
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
		if worst == nil || preferVictim(v, worst) {
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

// preferVictim reports whether v is preempted rather than w: a protected one late, a pinned one last.
func preferVictim(v, w *Request) bool {
	const shields = abi.RankFlagPinned | abi.RankFlagProtected // a pinned one's value is the larger
	vs, ws := v.core.flags&shields, w.core.flags&shields
	switch {
	case vs != ws:
		return vs < ws
	case v.core.victim != w.core.victim:
		return v.core.victim > w.core.victim
	}
	return ranksAfter(v, w)
}

// preempt takes seat and KV blocks from a running request. Its tokens stay known and are computed again.
func (c *Core) preempt(now int64, r *Request) {
	lost := r.Computed
	c.vacateSeat(r)
	r.Computed = 0
	r.Preemptions++
	r.TokensLost += lost
	c.stats.Preemptions++
	c.stats.RecomputedTokens += uint64(lost)
	c.event(abi.EventKindPreempted, now, r, int64(lost))
	c.requeue(now, r)
	if r.Preemptions > c.cfg.MaxPreemptions {
		r.Verdict = Verdict{Status: statusUnavailable, Reason: abi.ReasonCapacity, RetryAfter: c.retryAfter(), Limit: "preemptions"}
		c.end(now, r, OutcomePreemptFailed)
	}
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
	noSeat, noKV := len(c.running) >= f.lim.seqs, c.entryBlocks(r) > c.free
	if !noSeat && !noKV {
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
		if c.entryBlocks(r)+growth-c.decodeGrowth(v) > c.free+v.core.blocks {
			continue
		}
		if worst == nil || preferVictim(v, worst) {
			worst = v
		}
	}
	if worst != nil {
		c.preempt(f.now, worst)
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
