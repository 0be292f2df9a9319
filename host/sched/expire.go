package sched

import (
	"math"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// never is later than any time.
const never = int64(math.MaxInt64)

func overdue(now, at int64) bool { return at > 0 && now >= at }

// expiresSoon notes when r runs out of time, if that is before all others do. c.nextExpiry is never too late; it is too
// early once the one that it stood for has left, which costs one look.
func (c *Core) expiresSoon(r *Request) {
	for _, at := range [2]int64{r.core.expires, r.Deadline} {
		if at > 0 {
			c.nextExpiry = min(c.nextExpiry, at)
		}
	}
}

// expire ends what is out of time: by its TTL while it waits for its first place, by its deadline wherever it is.
func (c *Core) expire(now int64) {
	if now < c.nextExpiry {
		return
	}
	c.nextExpiry = never
	late := c.late[:0]
	for _, list := range [3][]*Request{c.waiting, c.resuming, c.running} {
		for _, r := range list {
			if overdue(now, r.Deadline) || c.host != abi.HostStatePaused && overdue(now, r.core.expires) {
				late = append(late, r)
			} else {
				c.expiresSoon(r)
			}
		}
	}
	c.late = late
	for _, r := range late {
		if !r.core.flying { // or else Complete does, unless the step was its last one
			c.endLate(now, r)
		}
	}
}

// endLate ends a request whose time is over. Its client is told to come again unless the same request could not be in time on a server
// with nothing else to do either.
func (c *Core) endLate(now int64, r *Request) {
	v, again := Verdict{Status: c.cfg.Statuses.TTL, Reason: abi.ReasonTTL}, true
	if overdue(now, r.Deadline) {
		v = Verdict{Status: c.cfg.Statuses.Deadline, Reason: abi.ReasonDeadline}
		again = r.Deadline-r.Arrival > c.leastTime(r)
	}
	if again {
		v.RetryAfter = c.retryAfter()
	}
	r.Verdict = v
	c.end(now, r, OutcomeExpired)
}

// leastTime is what r would take at least if it came again and had the server to itself, in ns, as far as that is known: its tokens so
// far and one more in steps with a single row, with all drafts accepted where it may have some, and the part of its prompt that is found
// nowhere. The rate of prompt tokens is the lower of the measured one and that of the last steps, in which small prompts look dearer
// than they are in a large one.
func (c *Core) leastTime(r *Request) int64 {
	_, outside := c.kv.offloadedMatch(r.core.hashes)
	left := max(0, r.PromptTokens-c.reusable(r, max(c.hit(r), outside))*c.cfg.BlockSize)
	prompt := min(int64(left)*c.cfg.Costs.PrefillToken, c.pace.prompt(left))
	steps := r.Generated + 1
	if !r.NoSpec {
		steps = r.Generated/(c.cfg.MaxDraft+1) + 1
	}
	return int64(steps)*c.singleStep() + prompt
}

// singleStep is what a step with one row takes, in ns: the lower of the measured time and that of the last ones; 0 = not known.
func (c *Core) singleStep() int64 {
	mean, measured := c.pace.decode[bucketOf(1)].mean, c.cfg.Costs.Step[0][0]
	if measured > 0 {
		return min(mean, measured)
	}
	return mean
}

// SetHostState says from now on that the host serves, drains (arrivals are refused) or is paused: no step starts. Time in the
// queue during a pause counts against no TTL and no age; a deadline is a moment, and passes all the same.
func (c *Core) SetHostState(now int64, s abi.HostState) {
	if was := c.host; was == s {
		return
	} else if was == abi.HostStatePaused {
		c.host = s
		c.forgivePause(now)
	}
	if c.host = s; s == abi.HostStatePaused {
		c.pausedAt = now
	}
	c.stall = 0
	c.win.advance(now, c.queueMoves())
}

// forgivePause moves the clocks of what waits on by the part of the wait that fell into the pause.
func (c *Core) forgivePause(now int64) {
	for i := range c.lines {
		for r := c.lines[i].first; r != nil; r = r.core.next {
			d := max(0, now-max(c.pausedAt, r.core.queuedAt))
			r.core.queuedAt += d
			if r.core.expires > 0 {
				r.core.expires += d
			}
		}
	}
	c.nextExpiry = now // whatever that was, it is another one now
}

// queueMoves reports whether something waits that could move.
func (c *Core) queueMoves() bool { return c.Waiting() > 0 && c.host != abi.HostStatePaused }
