package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// limits is the batch plan of one step after clamping; every field is a real limit.
type limits struct {
	seqs, tokens   int
	prefill, chunk int  // tokens a step; tokens of one request in a step
	kvCeiling      int  // blocks in use beyond which nothing enters
	reserve        int  // places kept for class 0
	budgeted       bool // prefill is a policy's
	chunked        bool // chunk is a policy's
	classSeqs      [abi.Classes]int
}

// heldPlan is a policy's batch plan for as long as it asked to hold it.
type heldPlan struct {
	plan  abi.BatchPlan
	by    abi.PolicyID
	steps uint32 // further steps that it holds for
	valid bool
}

// filling is the state of Plan while it puts a batch together.
type filling struct {
	now      int64
	lim      limits
	batchBy  abi.PolicyID
	rankBy   abi.PolicyID
	tokens   int        // left in the step
	prompts  share      // what is left in the step for prompts
	slope    int64      // the price of a prompt token's distance from its sequence's beginning, in this step
	unranked int        // waiting requests that the policies did not rank; they stand behind those that they did
	order    []*Request // see Core.queue
	ordered  bool
	claim    *Request // the newcomer for whom a place was cleared
}

// Plan builds the next step, or returns nil when there is nothing to run. The batch is the Core's own and is valid until
// Complete, which must come before the next Plan.
func (c *Core) Plan(now int64) *Batch {
	if c.flying != nil {
		panic("BUG: Plan while a step is on the device")
	}
	c.win.advance(now, c.queueMoves())
	if c.host == abi.HostStatePaused || c.Idle() {
		c.stall = 0
		return nil
	}
	if c.win.forgotten(now) { // a plan for so many steps was for steps soon
		c.plan, c.spec = heldPlan{}, heldSpec{}
	}
	c.snapshot(now, c.reads)
	c.deliverEvents()
	c.batch = Batch{Rows: c.batch.Rows[:0], Ops: c.batch.Ops[:0], Step: c.stats.Steps + 1}
	f := filling{now: now}
	f.lim, f.batchBy = c.batchLimits()
	f.tokens = f.lim.tokens
	c.deferred = 0
	c.rank(&f)
	c.clearPlace(&f)
	c.placeDecodes(&f)
	c.batch.decoding = len(c.batch.Rows)
	f.prompts = c.budget(&f)
	c.placeClaim(&f)
	c.placePrompts(&f)
	if len(c.batch.Rows) == 0 && !c.force(&f) {
		return nil
	}
	c.stall = 0
	c.limitCached()
	c.planDrafts(&f)
	c.batch.Ops = append(c.batch.Ops, c.kv.ops...)
	c.kv.ops = c.kv.ops[:0]
	c.batch.started = now
	for _, row := range c.batch.Rows {
		row.Req.BatchBy = f.batchBy
		c.batch.Tokens += row.Tokens
	}
	c.flying = &c.batch
	return c.flying
}

func (c *Core) deliverEvents() {
	if len(c.events) > 0 {
		c.policy.Events(&c.state, c.events)
		c.events = c.events[:0]
	}
}

// batchLimits asks for a batch plan unless one still holds, and clamps it.
func (c *Core) batchLimits() (limits, abi.PolicyID) {
	switch {
	case c.plan.valid && c.plan.steps > 0:
		c.plan.steps--
	case c.hooks.Has(abi.HookBatchCap):
		c.plan = heldPlan{valid: true}
		p := &c.plan.plan
		decided, by := c.policy.BatchPlan(&c.state, p)
		if !decided {
			*p = abi.BatchPlan{}
		}
		c.plan.by, c.plan.steps = by, min(p.HoldSteps, maxHold)
	default:
		c.plan = heldPlan{}
	}
	p := &c.plan.plan
	l := limits{
		seqs:      c.limitSeqs(c.clamp(p.MaxSeqs, c.cfg.MaxSeqs)),
		tokens:    c.clamp(p.MaxBatchedTokens, c.cfg.MaxBatchTokens),
		prefill:   c.clamp(p.PrefillBudgetTokens, c.cfg.MaxBatchTokens),
		chunk:     c.clamp(p.ChunkTokens, c.cfg.MaxBatchTokens),
		kvCeiling: c.cfg.Blocks,
		reserve:   int(min(p.ReserveSeqs, uint32(c.cfg.MaxSeqs-1))),
		budgeted:  p.PrefillBudgetTokens > 0,
		chunked:   p.ChunkTokens > 0,
	}
	// A step holds a token of each running request, or those left out would only lengthen their gaps.
	l.tokens = max(l.tokens, len(c.running))
	if p.KVAdmitCeilingPPM > 0 {
		l.kvCeiling = int(int64(c.cfg.Blocks) * int64(min(p.KVAdmitCeilingPPM, 1_000_000)) / 1_000_000)
	}
	for i := range l.classSeqs {
		l.classSeqs[i] = c.cfg.MaxSeqs
		if p.ClassMaxSeqs[i] > 0 {
			l.classSeqs[i] = int(min(p.ClassMaxSeqs[i], uint32(c.cfg.MaxSeqs)))
		}
	}
	return l, c.plan.by
}

// maxHold bounds how long a policy may go without being asked.
const maxHold = 1024

// clamp reads a limit of a plan: 0 means hard, and more than hard is hard.
func (c *Core) clamp(v uint32, hard int) int {
	if v == 0 {
		return hard
	}
	if int64(v) > int64(hard) {
		if v != math.MaxUint32 {
			c.stats.Clamped++
		}
		return hard
	}
	return int(v)
}

// place adds r to the batch with n of its known tokens.
func (c *Core) place(f *filling, r *Request, n int) {
	row := Row{Req: r, Seq: r.core.seq, Start: r.Computed, Tokens: n, Sample: r.Computed+n == r.known()}
	c.batch.Rows = append(c.batch.Rows, row)
	r.core.flying = true
	f.tokens -= n
}

// placeDecodes gives every request that produces tokens its next one. It comes before all prefill.
func (c *Core) placeDecodes(f *filling) {
	for _, r := range c.byRank() {
		if r.core.place == placeRunning && r.known()-r.Computed == 1 && f.tokens > 0 && c.grow(f, r, r.Computed+1) {
			c.place(f, r, 1)
		}
	}
}

// placePrompts shares what the step may hold of prompts: half of it at least is for the oldest that runs, so that it ends. The other half
// goes to the shortest first, so that a short prompt is not stuck behind long ones: newcomers no longer than what runs, what runs, and
// other newcomers. What they leave is for the oldest again.
func (c *Core) placePrompts(f *filling) {
	todo := c.prefilling[:0]
	for _, r := range c.running {
		if !r.core.flying && r.known()-r.Computed > 1 {
			todo = append(todo, r)
		}
	}
	c.prefilling = todo
	if len(todo) == 0 {
		c.placeNewcomers(f, maxTokens)
		return
	}
	oldest, others := todo[0], todo[1:]
	if len(others) == 0 && c.next(f) == nil {
		c.placePrefill(f, oldest)
		c.placeNewcomers(f, maxTokens)
		return
	}
	kept := f.prompts.half()
	f.prompts = f.prompts.rest()
	c.placeOthers(f, others)
	f.prompts.merge(kept)
	c.placePrefill(f, oldest)
}

func (c *Core) placeOthers(f *filling, running []*Request) {
	if len(running) > 0 {
		slices.SortStableFunc(running, func(a, b *Request) int { return cmp.Compare(a.known()-a.Computed, b.known()-b.Computed) })
		c.placeNewcomers(f, running[0].known()-running[0].Computed)
	}
	for _, r := range running {
		c.placePrefill(f, r)
	}
	c.placeNewcomers(f, maxTokens)
}

func (c *Core) placePrefill(f *filling, r *Request) {
	n := min(r.known()-r.Computed, f.prompts.of(r.Computed, f.slope), f.tokens, f.lim.chunk)
	if r.core.place != placeRunning || n <= 0 || !c.grow(f, r, r.Computed+n) {
		return
	}
	c.placePrompt(f, r, n)
}

// placePrompt adds r to the batch with n of its prompt's tokens, and takes them off what is left for prompts.
func (c *Core) placePrompt(f *filling, r *Request, n int) {
	f.prompts.take(r.Computed, n, f.slope)
	c.place(f, r, n)
}

// force lets the head in whatever the policies say, once something has waited for StallAfter while nothing ran.
func (c *Core) force(f *filling) bool {
	head := c.head(f)
	if head == nil {
		return false
	}
	if c.stall == 0 {
		c.stall = f.now
	}
	waited := f.now - c.stall
	if waited < c.cfg.StallAfter {
		return false
	}
	f.lim = limits{seqs: c.limitSeqs(c.cfg.MaxSeqs), tokens: c.cfg.MaxBatchTokens, chunk: c.cfg.MaxBatchTokens, kvCeiling: c.cfg.Blocks}
	f.tokens, f.prompts = f.lim.tokens, share{f.lim.tokens, maxWork}
	if !c.enter(f, head, c.wayIn(head)) {
		return false
	}
	c.stats.Forced++
	c.notice(Notice{Kind: NoticeForced, At: f.now, ID: head.ID, Class: head.Class, Value: waited, By: f.batchBy})
	return true
}
