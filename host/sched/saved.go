package sched

// waste is how many computed tokens r would have to compute again if it lost its sequence. What other sequences hold too
// is found again.
func (c *Core) waste(r *Request) int {
	return max(0, r.Computed-c.kv.elsewhere(r.core.seq)*c.cfg.BlockSize)
}

// preemptionCost is what it costs to stop r, in ns where the costs are known, else in tokens.
func (c *Core) preemptionCost(r *Request) int64 {
	cost := int64(c.waste(r)) * max(c.cfg.Costs.PrefillToken, 1)
	if c.savable(r) {
		cost = min(cost, int64(r.Computed)*c.cfg.Costs.SaveToken)
	}
	return cost
}

// savable tells whether r could be saved if that were cheaper.
func (c *Core) savable(r *Request) bool {
	return !c.pressure.NoSaved && c.cfg.Costs.SaveToken > 0 && c.cfg.Costs.PrefillToken > 0 && r.Computed > 0 && r.Computed <= c.cfg.MaxSaved
}

// save keeps what r's sequence holds outside the device if to compute it again would take longer. Room for it is that of
// requests that will go on after r. It reports whether r is saved.
func (c *Core) save(r *Request) bool {
	if !c.savable(r) || int64(r.Computed)*c.cfg.Costs.SaveToken >= int64(c.waste(r))*c.cfg.Costs.PrefillToken {
		return false
	}
	room := c.cfg.MaxSaved - c.kv.outside.requests
	for _, x := range c.resuming {
		if ranAfter(x, r) {
			room += x.core.saved
		}
	}
	if room < r.Computed {
		return false
	}
	for i := len(c.resuming) - 1; !c.kv.makeRoom(r.Computed); i-- {
		c.forget(c.resuming[i])
	}
	c.kv.seqs[r.core.seq].kept = true
	c.kv.ops = append(c.kv.ops, Op{Kind: OpSave, Seq: r.core.seq, Tokens: r.Computed, ID: r.ID})
	r.core.saved = r.Computed
	c.kv.outside.requests += r.Computed
	c.stats.Saves++
	c.stats.SavedTokens += uint64(r.Computed)
	return true
}

// justSaved tells whether the step that is being built saves r: the device may yet say that it could not.
func (c *Core) justSaved(r *Request) bool { return r.core.saved > 0 && c.kv.saves(r.ID) }

// restoreIsCheaper tells whether r should get back what was saved rather than enter with tokens that it finds elsewhere.
func (c *Core) restoreIsCheaper(r *Request, tokens int) bool {
	return int64(r.core.saved)*c.cfg.Costs.SaveToken < int64(r.core.saved-tokens)*c.cfg.Costs.PrefillToken
}

// restore fills r's sequence, which is empty, with what was saved. Its blocks are its own: the device shares nothing that
// was restored.
func (c *Core) restore(r *Request) {
	c.kv.ops = append(c.kv.ops, Op{Kind: OpRestore, Seq: r.core.seq, Tokens: r.core.saved, ID: r.ID})
	c.kv.outside.requests -= r.core.saved
	c.stats.Restores++
	c.stats.RestoredTokens += uint64(r.core.saved)
	r.core.saved = 0
	c.kv.learn(r)
}

// forget drops what was saved of r, if anything was.
func (c *Core) forget(r *Request) {
	if r.core.saved == 0 {
		return
	}
	c.kv.ops = append(c.kv.ops, Op{Kind: OpForget, ID: r.ID})
	c.kv.outside.requests -= r.core.saved
	r.core.saved = 0
}

// ForgetSaved says that the device could not save what Op.ID names (OpSave failed), or lost what it had saved. A request
// computes again what it has lost. It may be called while the step is on the device.
func (c *Core) ForgetSaved(id uint64) {
	if r := c.byID[id]; r != nil {
		c.forget(r)
	} else if id >= firstOffloaded {
		c.kv.dropOffloaded(func(x *offloaded) bool { return x.id == id })
	}
}

// DropKV says that the device holds nothing any more, and that nothing is saved: it was opened anew. Requests that ran
// wait to go on and compute everything again; it is not counted as a preemption. Not while a step is on the device.
func (c *Core) DropKV(now int64) {
	if c.flying != nil {
		panic("BUG: DropKV while a step is on the device")
	}
	for len(c.running) > 0 {
		r := c.running[len(c.running)-1]
		c.vacateSeat(r, false)
		c.stop(now, r)
	}
	c.kv.forgetCached()
	for _, r := range c.resuming {
		c.forget(r)
	}
	c.kv.dropOffloaded(func(*offloaded) bool { return true })
	c.kv.ops = c.kv.ops[:0]
}

// redo is for a step of which no row succeeded: the device may not have come to its operations. To trim and to forget
// twice does no harm; what was to be saved counts as lost.
func (c *Core) redo(ops []Op) {
	for _, op := range ops {
		switch op.Kind {
		case OpTrim, OpForget:
			c.kv.ops = append(c.kv.ops, op)
		case OpSave:
			c.ForgetSaved(op.ID)
		case OpRestore:
			if !op.Keep { // its request has ended, and what was saved may still be there
				c.kv.ops = append(c.kv.ops, Op{Kind: OpForget, ID: op.ID})
			}
		}
	}
}
