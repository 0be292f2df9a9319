package sched

import (
	"fmt"
	"slices"
)

// head is who enters next: first those that were preempted, then the policy's order.
func (c *Core) head(f *filling) *Request {
	if len(c.resuming) > 0 {
		return c.resuming[0]
	}
	for _, r := range c.queue(f) {
		if r.core.place == placeWaiting {
			return r
		}
	}
	return nil
}

// mayEnter reports whether the batch plan lets r take a place now, KV blocks left aside. A running request that would
// leave first may be named as gone.
func (c *Core) mayEnter(f *filling, r, gone *Request) bool {
	running, used := len(c.running), c.BlocksUsed()
	if gone != nil {
		running, used = running-1, used-gone.core.blocks
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
	inClass := 0
	for _, x := range c.running {
		if x != gone && x.Class == r.Class {
			inClass++
		}
	}
	return inClass < f.lim.classSeqs[r.Class]
}

// placeClaim lets in the newcomer for whom a place was cleared, before the prefills that run, to which it leaves half.
func (c *Core) placeClaim(f *filling) {
	if f.claim == nil {
		return
	}
	rest := 0
	if c.prefills() {
		rest = f.prefill / 2
	}
	f.prefill -= rest
	if !c.enter(f, f.claim) {
		panic(fmt.Sprintf("BUG: a place was cleared for request %d and it cannot enter", f.claim.ID))
	}
	f.prefill += rest
}

// prefills reports whether a running request still has a prompt to compute.
func (c *Core) prefills() bool {
	return slices.ContainsFunc(c.running, func(r *Request) bool { return r.known()-r.Computed > 1 })
}

// placeNewcomers fills the places that are left. A request that lacks KV blocks may be overtaken MaxBypass times.
func (c *Core) placeNewcomers(f *filling) {
	if len(c.running) >= f.lim.seqs {
		return
	}
	queue := append(c.pick[:0], c.resuming...)
	queue = append(queue, c.queue(f)...)
	c.pick = queue
	var blocked []*Request
	for _, r := range queue {
		if f.prefill <= 0 || f.tokens <= 0 || len(c.running) >= f.lim.seqs {
			return
		}
		if r.core.place != placeWaiting {
			continue
		}
		entered, lacksKV := c.tryEnter(f, r)
		if lacksKV {
			if r.core.bypassed >= c.cfg.MaxBypass {
				return
			}
			blocked = append(blocked, r)
		}
		if entered {
			for _, b := range blocked {
				b.core.bypassed++
			}
		}
	}
}

func (c *Core) tryEnter(f *filling, r *Request) (entered, lacksKV bool) {
	if !c.mayEnter(f, r, nil) {
		return false, false
	}
	if !c.enter(f, r) {
		return false, f.tokens > 0 && f.prefill > 0
	}
	return true, false
}

// enter gives r a seat, the KV blocks of all its known tokens and one more, and its first tokens of the step. All or nothing.
func (c *Core) enter(f *filling, r *Request) bool {
	n := min(r.known()-r.Computed, f.prefill, f.tokens, f.lim.chunk)
	need := c.entryBlocks(r)
	if n <= 0 || need > c.free {
		return false
	}
	c.dequeue(r)
	c.free -= need
	r.core.blocks, r.core.seq, r.core.place, r.core.bypassed = need, c.freeSeat(), placeRunning, 0
	c.seats[r.core.seq] = r
	c.running = append(c.running, r)
	c.tenants.get(r.Tenant).running++
	if r.core.preempted {
		r.Requeued += f.now - r.core.queuedAt
		r.core.preempted = false
	} else {
		c.started(f, r)
	}
	c.place(f, r, n)
	f.prefill -= n
	return true
}

// entryBlocks is what r needs to enter: its known tokens and the next one, but never more than it can ever hold.
func (c *Core) entryBlocks(r *Request) int {
	return c.blocksFor(min(r.known()+1, max(r.peak(), r.known())))
}

func (c *Core) freeSeat() int {
	for i, r := range c.seats {
		if r == nil {
			return i
		}
	}
	panic("BUG: no free seat below MaxSeqs")
}
