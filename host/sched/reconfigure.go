package sched

import "fmt"

// SetConfig puts other limits and objectives in force, from the next decision on: what waits already stays, also beyond a lower
// limit of the queue. The size of the batch and of the KV cache, and the seed, cannot change. After an error nothing has
// changed.
func (c *Core) SetConfig(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	same := c.cfg
	same.ChunkTokens, same.MaxPreemptions, same.MaxBypass = cfg.ChunkTokens, cfg.MaxPreemptions, cfg.MaxBypass
	same.MaxWaiting, same.MaxWaitingTokens, same.MaxWaitingBytes = cfg.MaxWaiting, cfg.MaxWaitingTokens, cfg.MaxWaitingBytes
	same.StallAfter, same.RejectingAfter, same.AgeAfter = cfg.StallAfter, cfg.RejectingAfter, cfg.AgeAfter
	same.SLO, same.Statuses = cfg.SLO, cfg.Statuses
	if same != cfg {
		return fmt.Errorf("change scheduler: the sizes of the batch and of the KV cache cannot change while requests are there")
	}
	c.cfg = cfg
	c.plan, c.spec = heldPlan{}, heldSpec{}
	return nil
}
