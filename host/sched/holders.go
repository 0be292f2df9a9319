package sched

import "sort"

// block is a KV block that the prefix tree knows. Blocks that only one running request has, because they are not full,
// not computed or not hashed yet, are counted in coreState.blocks alone.
type block struct {
	refs int32 // sequences that hold it
	live int32 // of them, those that something runs on
}

// held is a block at its place in a sequence.
type held struct {
	node       *node
	block      int32 // index in kvCache.blocks
	prev, next int32 // sequences that hold the same node, or none
}

// sequence is what the device holds under one sequence id: a holder. With a request something runs on it; without one
// it is cached, or empty when its path is.
type sequence struct {
	req  *Request
	path []held // the full blocks that the tree knows, from the first on
	kept bool   // all of them are kept outside the device too
}

// kvCache is who holds which KV blocks. Whatever changes that appends the operation that makes the device follow, so at
// each of them the device holds no more than is counted here.
//
// Sequences share a block only where one was copied from the other, and then all blocks before it too. So refs and live
// never rise along a path, and neither does the number of sequences that hold a node.
type kvCache struct {
	prefixTree
	size   int     // tokens in a block
	free   int     // blocks that nothing holds
	cached int     // blocks that only cached sequences hold
	blocks []block // those with refs > 0 are in use
	unused []int32 // indexes in blocks
	seqs   []sequence
	clock  uint64
	ops    []Op // of the next step

	shared  bool   // a copied block is the same block
	copyMin int    // fewest tokens of a copy; 0 = no copies
	evicted uint64 // blocks

	outside outside
	wanted  *offloaded // is not given up at present
}

func newKVCache(cfg *Config) kvCache {
	return kvCache{
		prefixTree: prefixTree{nodes: map[uint64]*node{}}, size: cfg.BlockSize, free: cfg.Blocks,
		seqs: make([]sequence, cfg.MaxSeqs+cfg.SpareSeqs), shared: cfg.SharedKV, copyMin: cfg.CopyMin,
		outside: newOutside(cfg),
	}
}

// available is the number of blocks that no request holds: nothing does, or the cache, which gives them up.
func (k *kvCache) available() int { return k.free + k.cached }

// push puts a block at the end of a sequence's path.
func (k *kvCache) push(seq int, n *node, b int32) {
	s := &k.seqs[seq]
	if n.first != none {
		k.seqs[n.first].path[n.depth-1].prev = int32(seq)
	}
	s.path = append(s.path, held{node: n, block: b, prev: none, next: n.first})
	n.first = int32(seq)
}

// pop takes the last block of a cached sequence away.
func (k *kvCache) pop(seq int) {
	s := &k.seqs[seq]
	h := s.path[len(s.path)-1]
	s.path = s.path[:len(s.path)-1]
	if h.next != none {
		k.seqs[h.next].path[h.node.depth-1].prev = h.prev
	}
	if h.prev != none {
		k.seqs[h.prev].path[h.node.depth-1].next = h.next
	} else if h.node.first = h.next; h.next == none {
		k.forget(h.node)
	}
	b := &k.blocks[h.block]
	if b.refs--; b.refs == 0 {
		k.unused = append(k.unused, h.block)
		k.cached--
		k.free++
	}
}

// newBlock is a block that the tree knows from now on, held once by a running request. The caller counts it.
func (k *kvCache) newBlock() int32 {
	if n := len(k.unused); n > 0 {
		i := k.unused[n-1]
		k.unused = k.unused[:n-1]
		k.blocks[i] = block{1, 1}
		return i
	}
	k.blocks = append(k.blocks, block{1, 1})
	return int32(len(k.blocks) - 1)
}

func (k *kvCache) wake(b *block) {
	if b.live++; b.live == 1 {
		k.cached--
	}
}

func (k *kvCache) rest(b *block) {
	if b.live--; b.live == 0 {
		k.cached++
	}
}

// trim cuts a sequence that nothing runs on to its first n blocks, on the device too.
func (k *kvCache) trim(seq, n int) {
	for len(k.seqs[seq].path) > n {
		k.pop(seq)
	}
	k.ops = append(k.ops, Op{Kind: OpTrim, Seq: seq, Tokens: n * k.size})
}

// forgetCached empties all sequences that nothing runs on.
func (k *kvCache) forgetCached() {
	for seq := range k.seqs {
		if s := &k.seqs[seq]; s.req == nil && len(s.path) > 0 {
			k.trim(seq, 0)
		}
	}
}

// touch says that the first n blocks of a sequence are wanted now.
func (k *kvCache) touch(seq, n int) {
	k.clock++
	for _, h := range k.seqs[seq].path[:n] {
		h.node.used = k.clock
	}
}

// adopt puts r on a cached sequence, of which it keeps n blocks and lost are lost.
func (k *kvCache) adopt(r *Request, seq, n, lost int) {
	s := &k.seqs[seq]
	if lost > 0 {
		k.offload(seq)
	}
	if len(s.path) > n {
		k.trim(seq, n)
	}
	for _, h := range s.path {
		k.wake(&k.blocks[h.block])
	}
	k.seat(r, seq, n)
}

// copyTo puts r on an empty sequence with the first n blocks of another one. Unless they are shared, they must be free.
func (k *kvCache) copyTo(r *Request, from, to, n int) {
	for _, h := range k.seqs[from].path[:n] {
		if k.shared {
			b := &k.blocks[h.block]
			b.refs++
			k.wake(b)
		} else {
			h.block = k.newBlock()
			k.free--
		}
		k.push(to, h.node, h.block)
	}
	k.ops = append(k.ops, Op{Kind: OpCopy, Seq: to, From: from, Tokens: n * k.size})
	k.seat(r, to, n)
}

// seat lets r run on a sequence of whose blocks it has n so far.
func (k *kvCache) seat(r *Request, seq, n int) {
	k.seqs[seq].req, k.seqs[seq].kept = r, false
	r.core.seq, r.core.blocks = seq, n
	k.touch(seq, n)
}

// leave takes r off its sequence, which stays cached up to its last full block if keep says so and no other holds the same.
func (k *kvCache) leave(r *Request, keep bool) {
	seq := r.core.seq
	s := &k.seqs[seq]
	n := len(s.path)
	k.free += r.core.blocks - n
	k.touch(seq, n)
	s.req, r.core.blocks, r.core.seq = nil, 0, -1
	for _, h := range s.path {
		k.rest(&k.blocks[h.block])
	}
	if !keep || k.redundant(seq) {
		n = 0
	}
	k.trim(seq, n)
}

// redundant tells whether a cached sequence has nothing that could not be copied from another one.
func (k *kvCache) redundant(seq int) bool {
	path := k.seqs[seq].path
	n := len(path)
	return n > 0 && k.copyMin > 0 && n*k.size >= k.copyMin && !path[n-1].alone()
}

// alone tells whether no other sequence holds the same node.
func (h *held) alone() bool { return h.prev == none && h.next == none }

// learn makes known to the tree what the device has computed of r, as far as r's hashes go.
func (k *kvCache) learn(r *Request) {
	s := &k.seqs[r.core.seq]
	for i := len(s.path); i < min(r.Computed/k.size, len(r.core.hashes)); i++ {
		var parent *node
		if i > 0 {
			parent = s.path[i-1].node
		}
		n := k.child(parent, r.core.hashes[i])
		if n == nil {
			r.core.hashes = r.core.hashes[:i] // another text has this hash: what follows is never shared
			return
		}
		k.push(r.core.seq, n, k.newBlock())
	}
}

// elsewhere is how many blocks of a sequence other sequences hold as well, be it the same block or another computation of it.
func (k *kvCache) elsewhere(seq int) int {
	path := k.seqs[seq].path
	return sort.Search(len(path), func(i int) bool { return path[i].alone() })
}

// resting is how many of the first n blocks of a sequence nothing that runs holds.
func (k *kvCache) resting(seq, n int) int {
	path := k.seqs[seq].path[:n]
	return n - sort.Search(n, func(i int) bool { return k.blocks[path[i].block].live == 0 })
}

// own is how many blocks become available when r leaves its sequence.
func (k *kvCache) own(r *Request) int {
	path := k.seqs[r.core.seq].path
	return r.core.blocks - sort.Search(len(path), func(i int) bool { return k.blocks[path[i].block].live == 1 })
}
