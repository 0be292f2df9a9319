package sched

import "github.com/sluice-dev/sluice/plugins/abi"

// heldSpec is a policy's speculation plan for as long as it asked to hold it. A k per row cannot be held.
type heldSpec struct {
	plan  abi.SpecPlan
	by    abi.PolicyID
	steps uint32
	valid bool
}

// planDrafts says how many draft tokens each decoding row may verify. Without a policy that speculates there are none.
// Drafts only use tokens and KV blocks that nothing else wants.
func (c *Core) planDrafts(f *filling) {
	c.lastKNow = 0
	if c.cfg.MaxDraft == 0 || !c.hooks.Has(abi.HookSpeculate) {
		return
	}
	rows := c.decodeRows(f.now)
	if len(rows) == 0 {
		return
	}
	c.askSpeculation(len(rows))
	p := &c.spec.plan
	c.batch.Spec = SpecCfg{NgramMin: int(min(p.NgramMin, 64)), NgramMax: int(min(p.NgramMax, 64)), VerifySlots: int(min(p.VerifySlots, 1<<20))}
	slots := c.batch.Spec.VerifySlots
	if slots == 0 {
		slots = f.tokens
	}
	for j, i := range rows {
		row := &c.batch.Rows[i]
		k := c.rowDraft(row.Req, p.K, c.ks[j])
		k = min(k, slots, f.tokens)
		k = c.draftBlocks(row, k)
		row.Draft = k
		row.Req.SpecBy = c.spec.by
		slots -= k
		f.tokens -= k
		c.lastKNow = max(c.lastKNow, k)
	}
}

// decodeRows fills c.rows with the rows that decode and returns their indexes in the batch.
func (c *Core) decodeRows(now int64) []int {
	c.decoding = c.decoding[:0]
	for i := range c.batch.Rows {
		row := &c.batch.Rows[i]
		if row.Sample && row.Req.Generated > 0 && row.Tokens == 1 && len(c.decoding) < abi.MaxRows {
			c.fillRow(&c.rows[len(c.decoding)], row.Req, now, abi.PhaseRunning)
			c.decoding = append(c.decoding, i)
		}
	}
	return c.decoding
}

func (c *Core) askSpeculation(n int) {
	for i := range c.ks[:n] {
		c.ks[i] = -1
	}
	if c.spec.valid && c.spec.steps > 0 {
		c.spec.steps--
		return
	}
	c.spec = heldSpec{valid: true}
	p := &c.spec.plan // not a local one, which would be allocated
	c.state.Running = uint32(len(c.running))
	c.state.Decoding = uint32(n)
	decided, by := c.policy.Speculate(&c.state, c.rows[:n], p, c.ks[:n])
	if !decided {
		*p = abi.SpecPlan{}
		for i := range c.ks[:n] {
			c.ks[i] = -1
		}
	}
	c.spec.by, c.spec.steps = by, min(p.HoldSteps, maxHold)
}

// rowDraft is k for one row: the plan's or its own, under the caps of host, admission and what is left to produce.
func (c *Core) rowDraft(r *Request, plan uint32, own int32) int {
	k := int(min(plan, abi.MaxDraft+1))
	if own >= 0 {
		k = int(min(own, abi.MaxDraft+1))
	}
	if k > c.cfg.MaxDraft {
		k = c.cfg.MaxDraft
		c.stats.Clamped++
	}
	if r.core.specCap >= 0 {
		k = min(k, r.core.specCap)
	}
	if r.NoSpec {
		k = 0
	}
	return max(0, min(k, r.core.maxTokens-r.Generated-1))
}

// draftBlocks takes free KV blocks for k drafts and returns how many fit.
func (c *Core) draftBlocks(row *Row, k int) int {
	r, end := row.Req, row.Start+row.Tokens
	need := max(0, c.blocksFor(end+k)-r.core.blocks)
	c.take(r, min(need, c.kv.available()))
	return max(0, min(k, r.core.blocks*c.cfg.BlockSize-end))
}
