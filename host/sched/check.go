package sched

import (
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Check verifies the invariants that hold between any two calls. Tests and replays call it after every step.
//
//	I1 arrived = queued + running + ended, one outcome each
//	I2 KV blocks and places: unique blocks held + free = total, nothing held by an ended request that is not cached
//	I3 times are monotone per request
func (c *Core) Check() error {
	if err := c.checkRequests(); err != nil {
		return err
	}
	if err := c.checkHoldings(); err != nil {
		return err
	}
	return c.kv.check()
}

func (c *Core) checkRequests() error {
	var ended uint64
	for _, n := range c.stats.Ended {
		ended += n
	}
	if got := uint64(len(c.waiting)+len(c.resuming)+len(c.running)) + ended; got != c.stats.Arrived {
		return fmt.Errorf("check I1: %d arrived, but %d wait, run or ended", c.stats.Arrived, got)
	}
	if len(c.byID) != c.Waiting()+len(c.running) {
		return fmt.Errorf("check I1: %d requests are known, %d wait or run", len(c.byID), c.Waiting()+len(c.running))
	}
	tokens, bytes, inCache := 0, int64(0), 0
	for i, r := range c.waiting {
		if r.core.place != placeWaiting || r.core.blocks != 0 || i > 0 && !before(c.waiting[i-1], r) {
			return fmt.Errorf("check I1: request %d stands wrongly in the queue", r.ID)
		}
		tokens, bytes, inCache = tokens+r.PromptTokens, bytes+int64(r.PromptBytes), inCache+r.core.inCache
	}
	if tokens != c.waitingTokens || bytes != c.waitingBytes {
		return fmt.Errorf("check I1: the queue holds %d tokens and %d bytes, counted %d and %d", tokens, bytes, c.waitingTokens, c.waitingBytes)
	}
	if inCache != c.inCache || inCache > tokens {
		return fmt.Errorf("check I1: the cache has %d tokens of the queue, counted %d", inCache, c.inCache)
	}
	for _, r := range c.ended {
		if err := r.checkEnded(); err != nil {
			return err
		}
	}
	return c.checkLines()
}

// checkLines verifies that each class's line holds what waits of it, in the order in which it began to wait.
func (c *Core) checkLines() error {
	var want [abi.Classes]line
	for _, list := range [2][]*Request{c.waiting, c.resuming} {
		for _, r := range list {
			want[r.Class].n++
			want[r.Class].tokens += r.PromptTokens
		}
	}
	for class := range c.lines {
		l, n := &c.lines[class], 0
		var last *Request
		for r := l.first; r != nil; r = r.core.next {
			if r.core.place != placeWaiting || int(r.Class) != class || r.core.prev != last || last != nil && r.core.queuedAt < last.core.queuedAt {
				return fmt.Errorf("check I1: request %d stands wrongly in the line of class %d", r.ID, class)
			}
			last = r
			n++
		}
		if l.last != last || n != l.n || n != want[class].n || l.tokens != want[class].tokens {
			return fmt.Errorf("check I1: the line of class %d has %d requests and %d tokens, counted %d and %d, in the queue %d and %d",
				class, n, l.tokens, l.n, l.tokens, want[class].n, want[class].tokens)
		}
	}
	return nil
}

// checkHoldings looks at blocks from the requests' side.
func (c *Core) checkHoldings() error {
	private := 0
	var inClass [abi.Classes]int
	for _, r := range c.running {
		inClass[r.Class]++
		if r.core.seq < 0 || c.kv.seqs[r.core.seq].req != r {
			return fmt.Errorf("check I2: request %d is not in its place %d", r.ID, r.core.seq)
		}
		path := c.kv.seqs[r.core.seq].path
		if r.core.blocks < max(c.blocksFor(r.Computed), len(path)) || r.core.saved != 0 {
			return fmt.Errorf("check I2: request %d computed %d tokens and holds %d blocks, %d of the tree, %d tokens saved",
				r.ID, r.Computed, r.core.blocks, len(path), r.core.saved)
		}
		if len(path) != min(r.Computed/c.cfg.BlockSize, len(r.core.hashes)) {
			return fmt.Errorf("check I2: request %d computed %d tokens and the tree knows %d blocks of it", r.ID, r.Computed, len(path))
		}
		for i, h := range path {
			if h.node.hash != r.core.hashes[i] {
				return fmt.Errorf("check I2: block %d of request %d is another text's", i, r.ID)
			}
		}
		private += r.core.blocks - len(path)
	}
	if inClass != c.inClass {
		return fmt.Errorf("check I2: %v requests run by class, counted %v", inClass, c.inClass)
	}
	if held := len(c.kv.blocks) - len(c.kv.unused); private+held+c.kv.free != c.cfg.Blocks || c.kv.free < 0 {
		return fmt.Errorf("check I2: %d private blocks, %d of the tree and %d free are not %d", private, held, c.kv.free, c.cfg.Blocks)
	}
	return c.checkOutside()
}

// checkOutside looks at what is kept outside the device.
func (c *Core) checkOutside() error {
	saved, prefixes := 0, 0
	for _, r := range c.byID {
		saved += r.core.saved
	}
	for _, x := range c.kv.outside.list {
		prefixes += len(x.hashes) * c.cfg.BlockSize
	}
	if o := &c.kv.outside; saved != o.requests || prefixes != o.prefixes || saved+prefixes > c.cfg.MaxSaved || len(o.list) > mostOffloaded {
		return fmt.Errorf("check I2: %d tokens of requests and %d of %d prefixes are kept outside the device, counted %d and %d, at most %d",
			saved, prefixes, len(o.list), o.requests, o.prefixes, c.cfg.MaxSaved)
	}
	return nil
}

// check looks at blocks from the sequences' side.
func (k *kvCache) check() error {
	refs, nodes, cached := make([]block, len(k.blocks)), map[*node]int{}, 0
	for seq := range k.seqs {
		s := &k.seqs[seq]
		if r := s.req; r != nil && (r.core.place != placeRunning || r.core.seq != seq) {
			return fmt.Errorf("check I2: request %d holds place %d and does not run there", r.ID, seq)
		}
		var parent *node
		for i, h := range s.path {
			refs[h.block].refs++
			if s.req != nil {
				refs[h.block].live++
			}
			if h.node.parent != parent || h.node.depth != i+1 || k.nodes[h.node.hash] != h.node || parent != nil && h.node.used > parent.used {
				return fmt.Errorf("check I2: block %d of sequence %d hangs wrongly in the tree", i, seq)
			}
			parent = h.node
			nodes[h.node]++
		}
	}
	for i, b := range refs {
		if b.refs > 0 && b.live == 0 {
			cached++
		}
		if b != k.blocks[i] {
			return fmt.Errorf("check I2: block %d is held %d times, counted %d", i, b, k.blocks[i])
		}
	}
	if cached != k.cached {
		return fmt.Errorf("check I2: %d blocks are cached, counted %d", cached, k.cached)
	}
	return k.checkLists(nodes)
}

// checkLists verifies that each node leads to all sequences that hold it.
func (k *kvCache) checkLists(nodes map[*node]int) error {
	if len(nodes) != len(k.nodes) {
		return fmt.Errorf("check I2: the tree has %d nodes, %d are held", len(k.nodes), len(nodes))
	}
	for n, want := range nodes {
		got, prev := 0, none
		for seq := n.first; seq != none; got++ {
			h := &k.seqs[seq].path[n.depth-1]
			if h.node != n || h.prev != prev {
				return fmt.Errorf("check I2: the list of a node at depth %d is broken at sequence %d", n.depth, seq)
			}
			prev, seq = seq, h.next
		}
		if got != want {
			return fmt.Errorf("check I2: a node leads to %d of the %d sequences that hold it", got, want)
		}
	}
	return nil
}

func (r *Request) checkEnded() error {
	if r.Outcome == OutcomeNone || r.core.blocks != 0 || r.core.place != placeEnded {
		return fmt.Errorf("check I1: request %d ended as %v and holds %d blocks", r.ID, r.Outcome, r.core.blocks)
	}
	last := r.Arrival
	for _, t := range []int64{r.Enqueued, r.Scheduled, r.FirstToken, r.LastToken, r.Ended} {
		if t == 0 {
			continue
		}
		if t < last {
			return fmt.Errorf("check I3: request %d has times that run backwards", r.ID)
		}
		last = t
	}
	return nil
}
