package sched

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Bounds of a Retry-After in seconds. Clients take the value as a floor; some come back at once at 0, some ignore more than a
// minute, and some sleep for any value. An estimate ends before the last so that there is room to spread it.
const (
	minRetryAfter = 1
	estimateLimit = 20
	maxRetryAfter = 30
)

const second = int64(1e9)

// retryAfter is how long the queue takes to drain at the rate of the last seconds.
func (c *Core) retryAfter() int64 {
	wait, ok := c.estimatedWait()
	if !ok {
		wait = minRetryAfter * second * int64(1+len(c.waiting)/c.cfg.MaxSeqs)
	}
	return min(max(wait, minRetryAfter*second), estimateLimit*second)
}

// spread rounds a Retry-After up to whole seconds and adds up to half as much again, so that those who were refused in one moment do
// not come back together. What it adds follows from the request's id and Config.Seed.
func (c *Core) spread(id uint64, ns int64) int64 {
	if ns <= 0 {
		return 0
	}
	s := min((ns-1)/second+1, maxRetryAfter)
	room := min(s/2+2, maxRetryAfter-s+1)
	return (s + int64(mix(c.cfg.Seed^id)%uint64(room))) * second
}

// limitNames are the hard limits that a Verdict may name.
var limitNames = [...]string{"queue_requests", "queue_tokens", "queue_bytes", "kv_cache", "context", "draining", "memory", "preemptions"}

// Limits lists the hard limits in the order of Refusals.ByLimit.
func Limits() []string { return slices.Clone(limitNames[:]) }

// reasons is how many reasons are counted apart; the last place holds those of a policy's own.
const reasons = int(abi.ReasonTTL) + 2

// Refusals counts the requests of one class that were refused: by policies, limits, TTLs and deadlines.
type Refusals struct {
	ByReason [reasons]uint64         // by abi.Reason; the last one holds a policy's own reasons
	ByLimit  [len(limitNames)]uint64 // by Limits; a refusal by a policy or a TTL is in none of them
}

// refused counts the end of a request that has a verdict, and settles the verdict's Retry-After.
func (c *Core) refused(now int64, r *Request, as Outcome) {
	switch as {
	case OutcomeShedAtArrival, OutcomeShedFromQueue, OutcomeExpired, OutcomePreemptFailed:
	default:
		return
	}
	r.Verdict.RetryAfter = c.spread(r.ID, r.Verdict.RetryAfter)
	k := &c.stats.Refused[r.Class]
	k.ByReason[min(int(r.Verdict.Reason), reasons-1)]++
	if i := slices.Index(limitNames[:], r.Verdict.Limit); i >= 0 {
		k.ByLimit[i]++
	}
	switch {
	case r.Verdict.Reason == abi.ReasonInfeasible && r.Verdict.Status == statusBadRequest:
		c.stats.Infeasible++
		c.notice(Notice{Kind: NoticeInfeasible, At: now, ID: r.ID, Class: r.Class, Limit: r.Verdict.Limit, Value: int64(r.PromptTokens)})
	case r.Verdict.Reason != abi.ReasonDraining && as != OutcomeExpired && as != OutcomePreemptFailed:
		c.rejects(now, r)
	}
}
