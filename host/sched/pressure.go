package sched

// Pressure narrows what the scheduler may use while its host runs short of something. The zero value narrows nothing.
type Pressure struct {
	MaxSeqs int  // places that newcomers may take; 0 = Config.MaxSeqs
	NoCache bool // keep no prefix that nothing runs on, and give up those that are kept
	NoSaved bool // keep nothing outside the device, and give up what is kept
	Refuse  bool // refuse arrivals: 503, capacity, limit "memory"
}

// SetPressure applies from the next decision on. It is called between Complete and the next Plan. What runs goes on.
func (c *Core) SetPressure(p Pressure) {
	c.pressure = p
	if p.NoCache {
		c.kv.forgetCached()
	}
	if c.kv.outside.off = p.NoCache || p.NoSaved || !worthSaving(&c.cfg.Costs); c.kv.outside.off {
		c.kv.dropOffloaded(func(*offloaded) bool { return true })
	}
	if p.NoSaved && c.kv.outside.requests > 0 {
		for _, r := range c.resuming {
			c.forget(r)
		}
	}
}

// limitSeqs is the places that the batch plan may fill.
func (c *Core) limitSeqs(planned int) int {
	if p := c.pressure.MaxSeqs; p > 0 {
		return max(1, min(planned, p))
	}
	return planned
}

// StepUnwanted reports whether every request of the step that the device computes was cancelled: its result is nobody's.
func (c *Core) StepUnwanted() bool {
	if c.flying == nil {
		return false
	}
	for i := range c.flying.Rows {
		if c.flying.Rows[i].Req.core.cancel == OutcomeNone {
			return false
		}
	}
	return true
}

// lose is what becomes of a request whose KV the device does not have: it is computed again, from its first token, and takes
// nothing from the cache, which was wrong about it once. A cached sequence that it was copied from is given up too.
func (c *Core) lose(now int64, r *Request) {
	if from := r.core.source; from != none && c.kv.seqs[from].req == nil {
		c.kv.trim(int(from), 0)
	}
	if r.core.reloaded != 0 {
		c.ForgetSaved(r.core.reloaded)
	}
	if r.core.cancel != OutcomeNone {
		r.core.spoiled = true
		c.end(now, r, r.core.cancel)
		return
	}
	r.core.hashes = nil
	c.preempt(now, r, false)
}
