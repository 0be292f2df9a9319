package sched

import (
	"github.com/sluice-dev/sluice/host/spec/goodput"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// heldSpec is a policy's speculation plan for as long as it asked to hold it. A k per row cannot be held.
type heldSpec struct {
	plan  abi.SpecPlan
	by    abi.PolicyID
	steps uint32
	valid bool

	native bool // no policy decided this step's
}

// planDrafts says how many draft tokens each decoding row may verify: as the policies decide, and where none does, as many as pay by
// what was measured. Drafts only use tokens and KV blocks that nothing else wants. Where nothing is on offer, nobody is asked.
func (c *Core) planDrafts(f *filling) {
	c.lastKNow = 0
	if c.cfg.MaxDraft == 0 || !c.offers() {
		return
	}
	c.goodput.Plan(c.drafts, f.tokens)
	c.spec.native = true
	if c.hooks.Has(abi.HookSpeculate) {
		c.askSpeculation(f.now)
	}
	p := &c.spec.plan
	if c.spec.native {
		p = &abi.SpecPlan{}
	}
	c.batch.Spec = SpecCfg{NgramMin: int(min(p.NgramMin, 64)), NgramMax: int(min(p.NgramMax, 64)), VerifySlots: int(min(p.VerifySlots, 1<<20))}
	slots := c.batch.Spec.VerifySlots
	if slots == 0 {
		slots = f.tokens
	}
	for j, i := range c.decoding {
		row := &c.batch.Rows[i]
		k := c.drafts[j].Draft
		if !c.spec.native {
			k = min(c.wanted(p.K, c.ks[j]), c.drafts[j].Most)
		}
		row.Draft = c.draftBlocks(row, min(k, slots, f.tokens))
		row.Req.SpecBy = c.spec.by
		slots -= row.Draft
		f.tokens -= row.Draft
		c.lastKNow = max(c.lastKNow, row.Draft)
	}
}

// offers lists the decoding rows and what each may draft at most, and reports whether any may.
func (c *Core) offers() (any bool) {
	c.decoding, c.drafts = c.decoding[:0], c.drafts[:0]
	for i := range c.batch.Rows {
		row := &c.batch.Rows[i]
		if !row.Sample || row.Req.Generated == 0 || row.Tokens != 1 || len(c.decoding) == abi.MaxRows {
			continue
		}
		most := c.mostDrafts(row.Req)
		any = any || most > 0
		c.decoding = append(c.decoding, i)
		c.drafts = append(c.drafts, goodput.Row{Of: &row.Req.core.drafts, Most: most})
	}
	return any
}

// mostDrafts is what the drafter offers r, under the caps of client, host, admission and what is left to produce.
func (c *Core) mostDrafts(r *Request) int {
	k := min(r.core.offered, c.cfg.MaxDraft, r.core.maxTokens-r.Generated-1)
	if r.core.specCap >= 0 {
		k = min(k, r.core.specCap)
	}
	if r.NoSpec {
		k = 0
	}
	return max(0, k)
}

// askSpeculation asks the policies unless a plan still holds. It shows them all rows that decode.
func (c *Core) askSpeculation(now int64) {
	n := len(c.decoding)
	for i := range c.ks[:n] {
		c.ks[i] = -1
	}
	if c.spec.valid && c.spec.steps > 0 {
		c.spec.steps--
		c.spec.native = false
		return
	}
	for j, i := range c.decoding {
		c.fillRow(&c.rows[j], c.batch.Rows[i].Req, now, abi.PhaseRunning)
	}
	c.showGoodput()
	c.spec = heldSpec{valid: true}
	p := &c.spec.plan // not a local one, which would be allocated
	c.state.Running = uint32(len(c.running))
	c.state.Decoding = uint32(n)
	decided, by := c.policy.Speculate(&c.state, c.rows[:n], p, c.ks[:n])
	c.spec.by, c.spec.native = by, !decided
	if decided {
		c.spec.steps = min(p.HoldSteps, maxHold)
	}
}

// showGoodput tells the policies what would be done without them.
func (c *Core) showGoodput() {
	if !c.goodput.Known(len(c.drafts)) {
		return
	}
	most := 0
	for j := range c.drafts {
		most = max(most, c.drafts[j].Draft)
		if c.reads&abi.GroupRowSpeculation != 0 {
			c.rows[j].KGoodput, c.rows[j].Valid = uint32(c.drafts[j].Draft), c.rows[j].Valid|abi.RowHasKGoodput
		}
	}
	if c.reads&abi.GroupStepCost != 0 {
		c.state.KGoodput, c.state.Valid = uint32(most), c.state.Valid|abi.StateHasKGoodput
	}
}

// wanted is a policy's k for one row, the plan's or its own, under the host's limit.
func (c *Core) wanted(plan uint32, own int32) int {
	k := int(min(plan, abi.MaxDraft+1))
	if own >= 0 {
		k = int(min(own, abi.MaxDraft+1))
	}
	if k > c.cfg.MaxDraft {
		k = c.cfg.MaxDraft
		c.stats.Clamped++
	}
	return k
}

// draftBlocks takes free KV blocks for k drafts and returns how many fit.
func (c *Core) draftBlocks(row *Row, k int) int {
	r, end := row.Req, row.Start+row.Tokens
	need := max(0, c.blocksFor(end+k)-r.core.blocks)
	c.take(r, min(need, c.kv.available()))
	return max(0, min(k, r.core.blocks*c.cfg.BlockSize-end))
}
