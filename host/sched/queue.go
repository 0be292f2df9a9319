package sched

import "sort"

// before is the native order: the client's priority, then arrival, then id.
func before(a, b *Request) bool {
	switch {
	case a.Priority != b.Priority:
		return a.Priority < b.Priority
	case a.Arrival != b.Arrival:
		return a.Arrival < b.Arrival
	}
	return a.ID < b.ID
}

// enqueue puts a request that arrives into the queue.
func (c *Core) enqueue(now int64, r *Request) {
	i := sort.Search(len(c.waiting), func(i int) bool { return before(r, c.waiting[i]) })
	c.waiting = append(c.waiting, nil)
	copy(c.waiting[i+1:], c.waiting[i:])
	c.waiting[i] = r
	r.core.place, r.core.queuedAt, r.Enqueued = placeWaiting, now, now
	c.waitingTokens += r.PromptTokens
	c.waitingBytes += int64(r.PromptBytes)
	c.tenants.get(r.Tenant).waiting++
}

// requeue puts a preempted request before all that never ran.
func (c *Core) requeue(now int64, r *Request) {
	i := sort.Search(len(c.resuming), func(i int) bool {
		x := c.resuming[i]
		return r.Scheduled < x.Scheduled || r.Scheduled == x.Scheduled && r.ID < x.ID
	})
	c.resuming = append(c.resuming, nil)
	copy(c.resuming[i+1:], c.resuming[i:])
	c.resuming[i] = r
	r.core.place, r.core.preempted, r.core.queuedAt = placeWaiting, true, now
	c.tenants.get(r.Tenant).waiting++
}

// dequeue takes a request out of whichever queue it is in.
func (c *Core) dequeue(r *Request) {
	c.tenants.get(r.Tenant).waiting--
	if r.core.preempted {
		c.resuming = remove(c.resuming, r)
		return
	}
	i := sort.Search(len(c.waiting), func(i int) bool { return !before(c.waiting[i], r) })
	if i == len(c.waiting) || c.waiting[i] != r {
		panic("BUG: a waiting request is not in the queue")
	}
	c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
	if i < c.judgeFrom {
		c.judgeFrom--
	}
	c.waitingTokens -= r.PromptTokens
	c.waitingBytes -= int64(r.PromptBytes)
}

// known is the number of tokens whose value is known: prompt and output.
func (r *Request) known() int { return r.PromptTokens + r.Generated }

// blocksFor is the number of KV blocks that n tokens need.
func (c *Core) blocksFor(n int) int { return (n + c.cfg.BlockSize - 1) / c.cfg.BlockSize }

// peak is the most tokens that r can ever hold. Its last output token is never computed.
func (r *Request) peak() int { return r.PromptTokens + r.core.maxTokens - 1 }
