package sched

import (
	"sort"

	"github.com/sluice-dev/sluice/plugins/abi"
)

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
	c.lines[r.Class].push(r)
	c.expiresSoon(r)
	c.hit(r)
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
	c.lines[r.Class].push(r)
	c.expiresSoon(r)
}

// dequeue takes a request out of whichever queue it is in.
func (c *Core) dequeue(r *Request) {
	c.tenants.get(r.Tenant).waiting--
	c.lines[r.Class].drop(r)
	c.countInCache(r, 0)
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

// line is what waits of one class, preempted ones included, in the order in which it began to wait. Who waits longest, and how
// many do, is then known without a look at the queue.
type line struct {
	first, last *Request
	n           int
	tokens      int // of their prompts
}

func (l *line) push(r *Request) {
	r.core.prev, r.core.next = l.last, nil
	if l.last == nil {
		l.first = r
	} else {
		l.last.core.next = r
	}
	l.last = r
	l.n++
	l.tokens += r.PromptTokens
}

func (l *line) drop(r *Request) {
	if prev := r.core.prev; prev != nil {
		prev.core.next = r.core.next
	} else {
		l.first = r.core.next
	}
	if next := r.core.next; next != nil {
		next.core.prev = r.core.prev
	} else {
		l.last = r.core.prev
	}
	r.core.prev, r.core.next = nil, nil
	l.n--
	l.tokens -= r.PromptTokens
}

// waited is how long r has been in the queue without a break. Time in which the host was paused does not count.
func (c *Core) waited(now int64, r *Request) int64 { return max(0, c.queueTime(now)-r.core.queuedAt) }

// queueTime is now, or the moment at which the host was paused.
func (c *Core) queueTime(now int64) int64 {
	if c.host == abi.HostStatePaused {
		return min(now, c.pausedAt)
	}
	return now
}

// oldest is how long the one that waits longest has waited; 0 when nothing waits.
func (c *Core) oldest(now int64) (wait int64) {
	for i := range c.lines {
		if first := c.lines[i].first; first != nil {
			wait = max(wait, c.waited(now, first))
		}
	}
	return wait
}

// known is the number of tokens whose value is known: prompt and output.
func (r *Request) known() int { return r.PromptTokens + r.Generated }

// blocksFor is the number of KV blocks that n tokens need.
func (c *Core) blocksFor(n int) int { return (n + c.cfg.BlockSize - 1) / c.cfg.BlockSize }

// peak is the most tokens that r can ever hold, drafts included: they never go beyond max_tokens. Its last output token is
// never computed.
func (r *Request) peak() int { return r.PromptTokens + r.core.maxTokens - 1 }
