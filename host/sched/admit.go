package sched

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Statuses of a rejection. Those of the host's own rules are in Config.Statuses.
const (
	statusBadRequest  = 400
	statusTooMany     = 429
	statusUnavailable = 503
	statusTimeout     = 504
	statusOverloaded  = 529
)

// judgedPerTick bounds the queue rows that one tick shows to the policies; the next tick goes on where it stopped.
const judgedPerTick = 4 * abi.MaxRows

// Arrive takes in requests that came at the same time. Each is judged at once: by the hard limits, then by the policies.
// It is then in the queue, or among TakeEnded. Ids must be new and in their range; PromptTokens and MaxTokens must be positive.
func (c *Core) Arrive(now int64, reqs ...*Request) {
	for len(reqs) > 0 {
		n := min(len(reqs), abi.MaxRows)
		c.arrive(now, reqs[:n])
		reqs = reqs[n:]
	}
}

func (c *Core) arrive(now int64, reqs []*Request) {
	c.pick = c.pick[:0]
	for _, r := range reqs {
		c.register(now, r)
		if v, ok := c.hardLimits(r); !ok {
			r.Verdict = v
			c.end(now, r, OutcomeShedAtArrival)
			continue
		}
		c.pick = append(c.pick, r)
	}
	c.judge(now, c.pick, abi.PhaseArrival)
	for i, r := range c.pick {
		v := &c.verdicts[i]
		r.AdmitBy = c.by[i]
		if abi.Action(v.Action) == abi.ActionReject {
			r.Verdict = c.rejection(now, v)
			c.end(now, r, OutcomeShedAtArrival)
			continue
		}
		c.applyLimits(now, r, v)
		// Those before it in this burst may have filled the queue since it was checked.
		if v, ok := c.hardLimits(r); !ok {
			r.Verdict = v
			c.end(now, r, OutcomeShedAtArrival)
			continue
		}
		c.enqueue(now, r)
		c.stats.Admitted++
		c.win.admitted(r)
		c.event(abi.EventKindAdmitted, now, r, 0)
	}
}

func (c *Core) register(now int64, r *Request) {
	if r.PromptTokens <= 0 || r.MaxTokens <= 0 || int(r.Class) >= abi.Classes || c.byID[r.ID] != nil || r.ID >= firstOffloaded {
		panic(fmt.Sprintf("BUG: request %d arrives twice, with a bad id or a bad shape: %d prompt tokens, max_tokens %d, class %d",
			r.ID, r.PromptTokens, r.MaxTokens, r.Class))
	}
	c.byID[r.ID] = r
	r.core = coreState{seq: -1, specCap: -1, maxTokens: min(r.MaxTokens, c.cfg.ContextTokens-r.PromptTokens)}
	r.core.hashes = slices.Clip(r.Hashes[:min(len(r.Hashes), r.PromptTokens/c.cfg.BlockSize)])
	if r.TTL > 0 {
		r.core.expires = r.Arrival + r.TTL
	}
	c.stats.Arrived++
	c.win.arrived()
}

// hardLimits is what no policy can change.
func (c *Core) hardLimits(r *Request) (Verdict, bool) {
	never := func(limit string) (Verdict, bool) {
		return Verdict{Status: statusBadRequest, Reason: abi.ReasonInfeasible, Limit: limit}, false
	}
	full := func(limit string) (Verdict, bool) {
		return Verdict{Status: c.cfg.Statuses.QueueFull, Reason: abi.ReasonQueueFull, RetryAfter: c.retryAfter(), Limit: limit}, false
	}
	switch {
	case r.core.maxTokens < 1:
		return never("context")
	case c.blocksFor(r.peak()) > c.cfg.Blocks:
		return never("kv_cache")
	case c.host == abi.HostStateDraining:
		return Verdict{Status: c.cfg.Statuses.Draining, Reason: abi.ReasonDraining, Limit: "draining"}, false
	case c.pressure.Refuse:
		return Verdict{Status: c.cfg.Statuses.Capacity, Reason: abi.ReasonCapacity, RetryAfter: c.retryAfter(), Limit: "memory"}, false
	case len(c.waiting) >= c.cfg.MaxWaiting:
		return full("queue_requests")
	case c.waitingTokens+r.PromptTokens > c.cfg.MaxWaitingTokens:
		return full("queue_tokens")
	case c.waitingBytes+int64(r.PromptBytes) > c.cfg.MaxWaitingBytes:
		return full("queue_bytes")
	}
	return Verdict{}, true
}

// Tick notices what time alone does: TTLs, deadlines, and the policies' view of what has waited too long. It may be
// called while the device computes a step, and should be at least every few tens of milliseconds. While the host is paused no
// policy judges what waits.
func (c *Core) Tick(now int64) {
	c.expire(now)
	if !c.hooks.Has(abi.HookAdmit) || c.host == abi.HostStatePaused {
		return
	}
	left := min(len(c.waiting), judgedPerTick)
	for left > 0 {
		if c.judgeFrom >= len(c.waiting) {
			c.judgeFrom = 0
		}
		n := min(left, abi.MaxRows, len(c.waiting)-c.judgeFrom)
		if n <= 0 {
			return
		}
		c.judgeQueued(now, n)
		left -= n
	}
}

func (c *Core) judgeQueued(now int64, n int) {
	c.pick = append(c.pick[:0], c.waiting[c.judgeFrom:c.judgeFrom+n]...)
	c.judgeFrom += n
	c.judge(now, c.pick, abi.PhaseQueued)
	for i, r := range c.pick {
		v := &c.verdicts[i]
		if abi.Action(v.Action) != abi.ActionReject {
			continue
		}
		r.AdmitBy = c.by[i]
		r.Verdict = c.rejection(now, v)
		c.end(now, r, OutcomeShedFromQueue)
	}
}

// judge asks the policies about reqs and leaves the answers in c.verdicts and c.by.
func (c *Core) judge(now int64, reqs []*Request, phase abi.Phase) {
	for i := range reqs {
		c.verdicts[i], c.by[i] = abi.Verdict{ClassOverride: -1, SpeculationCap: -1}, abi.Native
	}
	if len(reqs) == 0 || !c.hooks.Has(abi.HookAdmit) {
		return
	}
	c.snapshot(now, c.reads)
	for i, r := range reqs {
		c.fillRow(&c.rows[i], r, now, phase)
		c.verdicts[i] = abi.Verdict{}
	}
	c.policy.Admit(&c.state, c.rows[:len(reqs)], c.verdicts[:len(reqs)], c.by[:len(reqs)])
}

func (c *Core) rejection(now int64, v *abi.Verdict) Verdict {
	out := Verdict{Status: int(v.Status), Reason: abi.Reason(v.Reason), RetryAfter: int64(v.RetryAfterMs) * 1e6}
	switch out.Status {
	case statusTooMany, statusUnavailable, statusOverloaded:
	case 0:
		out.Status = c.cfg.Statuses.Capacity
	default:
		out.Status = c.cfg.Statuses.Capacity
		c.stats.Clamped++
	}
	if out.RetryAfter == 0 {
		out.RetryAfter = c.retryAfter()
	}
	return out
}

// applyLimits takes over what an admission says beyond yes. Zero values of an abstention change nothing.
func (c *Core) applyLimits(now int64, r *Request, v *abi.Verdict) {
	if a := abi.Action(v.Action); a != abi.ActionAdmit && a != abi.ActionDegrade {
		return
	}
	if v.ClassOverride >= 0 && int(v.ClassOverride) < abi.Classes {
		r.Class = uint8(v.ClassOverride)
	}
	if v.HasPriority != 0 {
		r.Priority = v.PriorityOverride
	}
	if v.MaxTokensCap > 0 {
		r.core.maxTokens = min(r.core.maxTokens, int(v.MaxTokensCap))
	}
	if v.SpeculationCap >= 0 {
		r.core.specCap = int(v.SpeculationCap)
	}
	if v.QueueTTLMs > 0 {
		at := now + int64(v.QueueTTLMs)*1e6
		if r.core.expires == 0 || at < r.core.expires {
			r.core.expires = at
		}
	}
}

// estimatedWait is what a newcomer would wait: the requests before it over the rate at which the queue drains.
func (c *Core) estimatedWait() (ns int64, ok bool) {
	milliPerS, ok := c.win.drainRate()
	if !ok || milliPerS == 0 {
		return 0, false
	}
	return scaled(int64(c.Waiting()), 1e12, milliPerS), true
}

// scaled is n * by / over, or the largest int64 where that is too much for one. None may be negative, and over not 0.
func scaled(n, by, over int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(by))
	if hi >= uint64(over) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(over))
	return int64(min(q, math.MaxInt64))
}
