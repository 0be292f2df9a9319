package sched

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Complete takes in what the device did with the batch of the last Plan: one result a row, in its order. now is the
// moment at which the step's tokens are emitted.
func (c *Core) Complete(now int64, results []Result) {
	b := c.flying
	if b == nil || len(results) != len(b.Rows) {
		panic(fmt.Sprintf("BUG: Complete with %d results and no step for them", len(results)))
	}
	c.flying = nil
	if !slices.ContainsFunc(results, func(r Result) bool { return r.Done != OutcomeFailed }) {
		c.redo(b.Ops)
	}
	c.stats.Steps++
	c.win.advance(now, c.queueMoves())
	prefilled, drafted, failed := 0, 0, 0
	for i := range b.Rows {
		prefilled += c.completeRow(now, &b.Rows[i], results[i])
		drafted += results[i].Drafted
		if results[i].Done == OutcomeFailed {
			failed++
		}
	}
	moved := slices.ContainsFunc(b.Ops, func(op Op) bool { return op.Kind == OpSave || op.Kind == OpRestore })
	if failed < len(b.Rows) && !moved { // the time of a save or a restore says nothing of the tokens'
		c.pace.learn(b.decoding, b.Tokens-b.decoding, c.promptWork(b, drafted), now-b.started)
	}
	if failed == 0 && !moved && b.Tokens == b.decoding {
		c.goodput.Took(b.decoding, drafted, now-b.started)
	}
	c.stepTime(now, now-b.started, prefilled)
}

// promptWork is the work on prompts in a step in which so many drafts were verified.
func (c *Core) promptWork(b *Batch, drafted int) (w int64) {
	slope := c.pace.price.slope(b.Tokens + drafted)
	for _, row := range b.Rows[b.decoding:] {
		w += work(row.Start, row.Tokens, slope)
	}
	return w
}

func (c *Core) stepTime(now, ns int64, prefilled int) {
	w := &c.win
	w.step.add(now, ns)
	if prefilled > 0 {
		w.mixedStep.add(now, ns)
	} else {
		w.decodeStep.add(now, ns)
	}
	w.cur().prefilled += int64(prefilled)
	c.stats.PrefillTokens += uint64(prefilled)
	c.state.LastStepTokens = uint32(c.batch.Tokens)
}

// completeRow returns the number of prompt tokens that the row computed.
func (c *Core) completeRow(now int64, row *Row, res Result) (prefilled int) {
	r := row.Req
	r.core.flying = false
	if !res.Lost {
		r.core.source = none
	}
	if res.Done == OutcomeFailed {
		r.core.spoiled = true
		if r.core.cancel != OutcomeNone {
			res.Done = r.core.cancel
		}
		c.end(now, r, res.Done)
		return 0
	}
	if res.Lost {
		c.lose(now, r)
		return 0
	}
	if row.Sample != (res.Emitted > 0) || res.Drafted > row.Draft || res.Emitted > res.Drafted+1 {
		panic(fmt.Sprintf("BUG: request %d: a result of %d tokens and %d drafts for a row that allows %d (sample %v)",
			r.ID, res.Emitted, res.Drafted, row.Draft, row.Sample))
	}
	prefilled = c.advance(now, row, res)
	switch {
	case r.core.cancel != OutcomeNone:
		c.end(now, r, r.core.cancel)
	case res.Done != OutcomeNone:
		c.end(now, r, res.Done)
	case r.Generated >= r.core.maxTokens:
		c.end(now, r, OutcomeLength)
	case overdue(now, r.Deadline):
		c.endLate(now, r)
	default:
		c.shrink(r)
	}
	return prefilled
}

// advance takes in what the row computed.
func (c *Core) advance(now int64, row *Row, res Result) (prefilled int) {
	r := row.Req
	prefilled = max(0, min(row.Start+row.Tokens, r.PromptTokens)-row.Start)
	t := c.tenants.get(r.Tenant)
	t.servedIn += uint64(prefilled)
	t.servedOut += uint64(res.Emitted)
	r.Computed = row.Start + row.Tokens
	c.stats.ComputedTokens += uint64(row.Tokens)
	if row.Sample {
		r.Computed += res.Emitted - 1
		c.emit(now, r, res)
	}
	c.kv.learn(r)
	return prefilled
}

func (c *Core) emit(now int64, r *Request, res Result) {
	if r.FirstToken == 0 {
		r.FirstToken = now
		c.win.ttft.add(now, now-r.Arrival)
		c.event(abi.EventKindFirstToken, now, r, 0)
	} else {
		gap := now - r.LastToken
		r.MaxGap = max(r.MaxGap, gap)
		c.win.itl.add(now, gap/int64(res.Emitted))
	}
	r.LastToken = now
	r.Emissions++
	if len(r.core.hashes) == r.known()/c.cfg.BlockSize { // or some before are missing
		r.core.hashes = append(r.core.hashes, res.Hashes...)
	}
	r.Generated += res.Emitted
	c.win.cur().emitted += int64(res.Emitted)
	c.stats.OutputTokens += uint64(res.Emitted)
	r.core.offered, r.core.ngram = res.Available, res.HitLength
	c.countDrafts(r, res)
}

// countDrafts leaves rows that ended, or are about to, out of what is learnt: a stop cuts their acceptance short.
func (c *Core) countDrafts(r *Request, res Result) {
	if res.Drafted == 0 {
		return
	}
	accepted := res.Emitted - 1
	r.Drafted += res.Drafted
	r.Accepted += accepted
	c.stats.Drafts++
	c.stats.Drafted += uint64(res.Drafted)
	c.stats.Accepted += uint64(accepted)
	if res.Done != OutcomeNone || r.core.cancel != OutcomeNone {
		return
	}
	c.goodput.Verified(&r.core.drafts, res.Drafted, accepted)
	for i := range res.Drafted {
		c.stats.DraftedAt[i]++
		if i < accepted {
			c.stats.AcceptedAt[i]++
		}
	}
}

// shrink gives back the KV blocks of drafts that were not accepted.
func (c *Core) shrink(r *Request) {
	if extra := r.core.blocks - c.blocksFor(max(r.Computed, r.known())); extra > 0 {
		r.core.blocks -= extra
		c.kv.free += extra
	}
}
