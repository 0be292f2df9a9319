package sched

import "fmt"

// Check verifies the invariants that hold between any two calls. Tests and replays call it after every step.
//
//	I1 arrived = queued + running + ended, one outcome each
//	I2 KV blocks and seats: held + free = total, nothing held by an ended request
//	I3 times are monotone per request
func (c *Core) Check() error {
	if err := c.checkRequests(); err != nil {
		return err
	}
	return c.checkHoldings()
}

func (c *Core) checkRequests() error {
	var ended uint64
	for _, n := range c.stats.Ended {
		ended += n
	}
	if got := uint64(len(c.waiting)+len(c.resuming)+len(c.running)) + ended; got != c.stats.Arrived {
		return fmt.Errorf("check I1: %d arrived, but %d wait, run or ended", c.stats.Arrived, got)
	}
	if len(c.byID) != c.Waiting()+len(c.running) {
		return fmt.Errorf("check I1: %d requests are known, %d wait or run", len(c.byID), c.Waiting()+len(c.running))
	}
	tokens, bytes := 0, int64(0)
	for i, r := range c.waiting {
		if r.core.place != placeWaiting || r.core.blocks != 0 || i > 0 && !before(c.waiting[i-1], r) {
			return fmt.Errorf("check I1: request %d stands wrongly in the queue", r.ID)
		}
		tokens, bytes = tokens+r.PromptTokens, bytes+int64(r.PromptBytes)
	}
	if tokens != c.waitingTokens || bytes != c.waitingBytes {
		return fmt.Errorf("check I1: the queue holds %d tokens and %d bytes, counted %d and %d", tokens, bytes, c.waitingTokens, c.waitingBytes)
	}
	for _, r := range c.ended {
		if err := r.checkEnded(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Core) checkHoldings() error {
	held := 0
	for _, r := range c.running {
		if c.seats[r.core.seq] != r {
			return fmt.Errorf("check I2: request %d is not in its seat %d", r.ID, r.core.seq)
		}
		if r.core.blocks < c.blocksFor(r.Computed) {
			return fmt.Errorf("check I2: request %d computed %d tokens and holds %d blocks", r.ID, r.Computed, r.core.blocks)
		}
		held += r.core.blocks
	}
	if held+c.free != c.cfg.Blocks || c.free < 0 {
		return fmt.Errorf("check I2: %d blocks held and %d free are not %d", held, c.free, c.cfg.Blocks)
	}
	seated := 0
	for _, r := range c.seats {
		if r != nil {
			seated++
		}
	}
	if seated != len(c.running) {
		return fmt.Errorf("check I2: %d seats are taken by %d running requests", seated, len(c.running))
	}
	return nil
}

func (r *Request) checkEnded() error {
	if r.Outcome == OutcomeNone || r.core.blocks != 0 || r.core.place != placeEnded {
		return fmt.Errorf("check I1: request %d ended as %v and holds %d blocks", r.ID, r.Outcome, r.core.blocks)
	}
	last := r.Arrival
	for _, t := range []int64{r.Enqueued, r.Scheduled, r.FirstToken, r.LastToken, r.Ended} {
		if t == 0 {
			continue
		}
		if t < last {
			return fmt.Errorf("check I3: request %d has times that run backwards", r.ID)
		}
		last = t
	}
	return nil
}
