package sched

import "sort"

// entryKind is how a request gets its sequence.
type entryKind uint8

const (
	entryEmpty    entryKind = iota // nothing is found
	entryAdopted                   // a cached sequence is cut to what fits and taken over
	entryCopied                    // the prefix is copied into an empty sequence
	entryRestored                  // what was saved goes into an empty sequence
	entryReloaded                  // an offloaded prefix goes into an empty sequence
)

// entry is how a request would enter now.
type entry struct {
	kind   entryKind
	seq    int // that is taken over or copied from
	from   *offloaded
	soon   bool // from is saved in the step that is being built: the device may yet say that it could not
	blocks int  // of the prefix
	lost   int  // blocks that nothing holds any more afterwards
	tokens int  // that need not be computed
	need   int  // KV blocks that must be available; no kind needs more than there is when entryEmpty would do
}

// entryBlocks is what r holds once it has entered: its known tokens and the next one, but never more than it can ever hold.
func (c *Core) entryBlocks(r *Request) int {
	return c.blocksFor(min(r.known()+1, max(r.peak(), r.known())))
}

// hit is how many blocks of r's text are in the prefix cache.
func (c *Core) hit(r *Request) int {
	r.core.hit = c.kv.match(r.core.hashes, r.core.hit)
	if r.core.place == placeWaiting && !r.core.preempted {
		c.countInCache(r, c.reusable(r, r.core.hit)*c.cfg.BlockSize)
	}
	return r.core.hit
}

// countInCache says that the cache has n tokens of the prompt of r, which waits and never ran; 0 when it waits no longer.
func (c *Core) countInCache(r *Request, n int) {
	c.inCache += n - r.core.inCache
	r.core.inCache = n
}

// reusable is how many blocks r need not compute: never all of its tokens, since the last one's logits are wanted.
func (c *Core) reusable(r *Request, blocks int) int {
	return min(blocks, (r.known()-1)/c.cfg.BlockSize)
}

// wayIn is the cheapest way for r to enter.
func (c *Core) wayIn(r *Request) entry {
	e := entry{kind: entryEmpty, need: c.entryBlocks(r)}
	if n := c.reusable(r, c.hit(r)); n > 0 {
		e = c.wayInWithPrefix(r, n, e.need)
	}
	if back, ok := c.wayBack(r, e); ok {
		e = back
	}
	if c.restoreIsCheaper(r, e.tokens) {
		e = entry{kind: entryRestored, tokens: r.core.saved, need: c.entryBlocks(r)}
	}
	return e
}

// wayInWithPrefix is for a prefix of n blocks. A cached sequence is taken over when nothing is lost by that, or, where
// copies are not shared, not more than is gained; else the prefix is copied, or taken over if the sequence must go anyway.
func (c *Core) wayInWithPrefix(r *Request, n, total int) entry {
	k := &c.kv
	copies := k.copyMin > 0 && n*k.size >= k.copyMin
	idle := c.bestIdle(r, n, !copies)
	var adopt entry
	if idle.seq >= 0 {
		adopt = entry{kind: entryAdopted, seq: idle.seq, blocks: idle.common, lost: idle.lost, need: total - idle.common + k.resting(idle.seq, idle.common)}
		adopt.tokens = adopt.blocks * k.size
		if idle.lost == 0 || !k.shared && idle.lost <= idle.common {
			return adopt
		}
	}
	if copies {
		if e, ok := c.copyEntry(r, n, total, idle.seq); ok {
			return e
		}
	}
	if idle.seq >= 0 && (copies || k.vacant() < 0 && k.coldest(-1) == idle.seq) {
		return adopt
	}
	return entry{kind: entryEmpty, need: total}
}

// copyEntry is to copy n blocks from a running request's sequence if there is one, else from idle.
func (c *Core) copyEntry(r *Request, n, total, idle int) (e entry, ok bool) {
	k := &c.kv
	from := k.runningHolder(k.nodes[r.core.hashes[n-1]])
	if from < 0 {
		from = idle
		if len(k.seqs)-len(c.running) < 2 {
			return e, false // no sequence for the copy
		}
	}
	e = entry{kind: entryCopied, seq: from, blocks: n, tokens: n * k.size, need: total}
	if k.shared {
		e.need = total - n + k.resting(from, n)
	}
	return e, true
}

// runningHolder is a sequence that holds n and on which something runs, or -1.
func (k *kvCache) runningHolder(n *node) int {
	for seq := n.first; seq != none; seq = k.seqs[seq].path[n.depth-1].next {
		if k.seqs[seq].req != nil {
			return int(seq)
		}
	}
	return -1
}

// idleMatch is a cached sequence with what r finds there.
type idleMatch struct {
	seq    int // -1 = none
	common int // blocks of r's prefix
	lost   int // blocks that nothing holds any more when it is cut to r's prefix
}

// bestIdle is the cached sequence with the most of r's first n blocks, and of these the one by which least is lost. With
// partly unset only those with all n count.
func (c *Core) bestIdle(r *Request, n int, partly bool) idleMatch {
	k, best := &c.kv, idleMatch{seq: -1}
	last := k.nodes[r.core.hashes[n-1]]
	for seq := range k.seqs {
		s := &k.seqs[seq]
		if s.req != nil || len(s.path) == 0 {
			continue
		}
		m := idleMatch{seq: seq, common: n}
		if len(s.path) < n || s.path[n-1].node != last {
			if !partly || s.path[0].node.hash != r.core.hashes[0] {
				continue
			}
			m.common = commonBlocks(s.path, r.core.hashes[:n])
		}
		m.lost = k.loss(seq, r.core.hashes, m.common)
		if best.seq < 0 || m.common > best.common || m.common == best.common && m.lost < best.lost {
			best = m
		}
	}
	return best
}

// commonBlocks is how many blocks path and a text with these hashes have in common.
func commonBlocks(path []held, hashes []uint64) int {
	n := min(len(path), len(hashes))
	return sort.Search(n, func(i int) bool { return path[i].node.hash != hashes[i] })
}

// loss is how many blocks nothing holds any more when a cached sequence is cut to its first n blocks and goes on with the
// text of hashes.
func (k *kvCache) loss(seq int, hashes []uint64, n int) int {
	path := k.seqs[seq].path
	if n < len(path) && n < len(hashes) && path[n].node.hash == hashes[n] {
		n++ // the block of the last token, which is computed again
	}
	return len(path) - max(n, min(k.elsewhere(seq), len(path)))
}

// occupy gives r its sequence and the KV blocks for it, as e says. The blocks must be available.
func (c *Core) occupy(r *Request, e entry) {
	k, total := &c.kv, c.entryBlocks(r)
	r.core.source, r.core.reloaded = none, 0
	switch e.kind {
	case entryAdopted:
		k.adopt(r, e.seq, e.blocks, e.lost)
	case entryCopied:
		to := k.emptySeq(e.seq)
		if !k.shared {
			k.evict(e.blocks) // no more than what the source has beyond them: else it would have been adopted
		}
		k.copyTo(r, e.seq, to, e.blocks)
		r.core.source = int32(e.seq)
	case entryReloaded:
		k.wanted = e.from
		k.seat(r, k.emptySeq(-1), 0)
		k.evict(e.need) // a prefix is reloaded whole, and cut then
		k.wanted = nil
	default:
		k.seat(r, k.emptySeq(-1), 0)
	}
	c.take(r, total-r.core.blocks)
	r.Computed = e.tokens
	if e.kind == entryRestored {
		c.restore(r)
		return
	}
	c.forget(r)
	if e.kind == entryReloaded {
		k.reload(r.core.seq, e.from, e.blocks)
		k.learn(r)
		r.core.reloaded = e.from.id
	}
}

// take gives r n further KV blocks, which must be available.
func (c *Core) take(r *Request, n int) {
	c.kv.evict(n)
	c.kv.free -= n
	r.core.blocks += n
}
