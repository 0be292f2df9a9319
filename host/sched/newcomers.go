package sched

import (
	"fmt"
	"slices"
	"sort"
)

// head is who enters next: first those that were preempted, then the policy's order.
func (c *Core) head(f *filling) *Request {
	if len(c.resuming) > 0 {
		return c.resuming[0]
	}
	for _, r := range c.queue(f) {
		if r.core.place == placeWaiting && !c.isBehind(r) && !c.comesSoon(r, c.wayIn(r)) {
			return r
		}
	}
	return nil
}

// next is the head where the batch plan lets it take a place now; nil = it does not, or nobody waits.
func (c *Core) next(f *filling) *Request {
	if r := c.head(f); c.mayEnter(f, r, nil) {
		return r
	}
	return nil
}

// mayEnter reports whether the batch plan lets r take a place now, KV blocks left aside. A running request that would
// leave first may be named as gone.
func (c *Core) mayEnter(f *filling, r, gone *Request) bool {
	running, used := len(c.running), c.BlocksUsed()
	if gone != nil {
		running, used = running-1, used-c.kv.own(gone)
	}
	if r == nil || running >= f.lim.seqs || used > f.lim.kvCeiling {
		return false
	}
	if r.core.turn {
		return true
	}
	if r.Class != 0 && f.lim.reserve > 0 && running >= f.lim.seqs-f.lim.reserve {
		return false
	}
	if r.core.preempted {
		return true
	}
	inClass := c.inClass[r.Class]
	if gone != nil && gone.Class == r.Class {
		inClass--
	}
	return inClass < f.lim.classSeqs[r.Class]
}

// placeClaim lets in the newcomer for whom a place was cleared, before the prefills that run, to which it leaves half.
func (c *Core) placeClaim(f *filling) {
	if f.claim == nil {
		return
	}
	var rest share
	if c.prefills() {
		f.prompts, rest = f.prompts.half(), f.prompts.rest()
	}
	if !c.enter(f, f.claim, c.wayIn(f.claim)) {
		panic(fmt.Sprintf("BUG: a place was cleared for request %d and it cannot enter", f.claim.ID))
	}
	f.prompts.merge(rest)
}

// prefills reports whether a running request still has a prompt to compute.
func (c *Core) prefills() bool {
	return slices.ContainsFunc(c.running, func(r *Request) bool { return r.known()-r.Computed > 1 })
}

// placeNewcomers fills the places that are left with requests that have no more than so many tokens to compute. One that lacks KV
// blocks may be overtaken MaxBypass times.
func (c *Core) placeNewcomers(f *filling, longest int) {
	before := c.deferred
	c.deferred = 0
	defer func() { c.deferred = max(c.deferred, before) }() // another pass of the step may have looked further
	if len(c.running) >= f.lim.seqs {
		return
	}
	queue := append(c.pick[:0], c.resuming...)
	queue = append(queue, c.queue(f)...)
	c.pick = queue
	c.blocked = c.blocked[:0]
	for _, r := range queue {
		if f.prompts.none() || f.tokens <= 0 || len(c.running) >= f.lim.seqs || len(c.blocked) == maxBlocked {
			return
		}
		if r.core.place != placeWaiting || !c.isShort(r, longest) {
			continue
		}
		entered, lacksKV := c.tryEnter(f, r)
		if lacksKV {
			if r.core.bypassed >= c.cfg.MaxBypass {
				return
			}
			c.blocked = append(c.blocked, r)
		}
		if entered {
			for _, b := range c.blocked {
				b.core.bypassed++
			}
		}
	}
}

// isShort tells whether r has at most so many tokens to compute. Who comes back or has aged goes by its turn and not by its length.
func (c *Core) isShort(r *Request, longest int) bool {
	return r.core.preempted || r.core.turn || r.known()-r.core.inCache <= longest
}

// maxBlocked is how many requests that lack KV blocks one step looks past for one that does not.
const maxBlocked = 64

func (c *Core) tryEnter(f *filling, r *Request) (entered, lacksKV bool) {
	if !c.mayEnter(f, r, nil) || c.justSaved(r) {
		return false, false
	}
	if c.isBehind(r) {
		c.deferred++
		return false, false
	}
	e := c.wayIn(r)
	if e.soon {
		return false, false
	}
	if c.comesSoon(r, e) {
		c.deferred++
		return false, false
	}
	if !c.enter(f, r, e) {
		return false, f.tokens > 0 && !f.prompts.none()
	}
	return true, false
}

// enter gives r a seat, the KV blocks of all its known tokens and one more, and its first tokens of the step, as its way in e says.
// All or nothing.
func (c *Core) enter(f *filling, r *Request, e entry) bool {
	if e.soon { // and r cannot wait
		e = entry{kind: entryEmpty, need: c.entryBlocks(r)}
	}
	n := min(r.known()-e.tokens, f.prompts.of(e.tokens, f.slope), f.tokens, f.lim.chunk)
	if n <= 0 || e.need > c.kv.available() {
		return false
	}
	c.dequeue(r)
	c.occupy(r, e)
	r.core.place, r.core.bypassed = placeRunning, 0
	c.running = append(c.running, r)
	c.inClass[r.Class]++
	c.tenants.get(r.Tenant).running++
	if r.core.preempted {
		r.Requeued += f.now - r.core.queuedAt
		r.core.preempted = false
		c.countLost(r)
	} else {
		c.countHit(r)
		c.started(f, r)
	}
	c.placePrompt(f, r, n)
	return true
}

// countLost counts what r computes again after a preemption.
func (c *Core) countLost(r *Request) {
	if lost := r.core.reached - r.Computed; lost > 0 {
		r.TokensLost += lost
		c.stats.RecomputedTokens += uint64(lost)
	}
}

// countHit counts what r found when it first ran.
func (c *Core) countHit(r *Request) {
	r.Cached = r.Computed
	if len(r.core.hashes) > 0 {
		c.stats.PrefixQueries += uint64(r.PromptTokens)
		c.stats.PrefixHits += uint64(r.Cached)
		c.win.cur().queried += int64(r.PromptTokens)
		c.win.cur().found += int64(r.Cached)
	}
}

// comesSoon tells whether a running request computes just now what r, which would enter as e says, could copy a little
// later: then r waits and others enter. That ends with that request's prompt, or with that request.
func (c *Core) comesSoon(r *Request, e entry) bool {
	size, at := c.cfg.BlockSize, e.tokens/c.cfg.BlockSize
	if c.cfg.CopyMin == 0 || at >= len(r.core.hashes) {
		return false
	}
	for _, x := range c.running {
		if at >= len(x.core.hashes) || x.core.hashes[at] != r.core.hashes[at] {
			continue
		}
		n := at + sort.Search(min(len(x.core.hashes), len(r.core.hashes))-at, func(i int) bool { return x.core.hashes[at+i] != r.core.hashes[at+i] })
		if n = c.reusable(r, n); (n-at)*size >= c.cfg.CopyMin {
			r.core.behind, r.core.behindBlocks = x, n
			return true
		}
	}
	return false
}

// isBehind tells whether what r was last seen to wait for is still being computed. With a thousand requests behind one prompt, only
// that is looked at in each step.
func (c *Core) isBehind(r *Request) bool {
	x, n := r.core.behind, r.core.behindBlocks
	return x != nil && x.core.place == placeRunning && n <= len(x.core.hashes) && (n-x.Computed/c.cfg.BlockSize)*c.cfg.BlockSize >= c.cfg.CopyMin
}
