package sched

// evict gives up cached blocks until n are free, leaf first, least recently wanted first. There must be enough of them.
func (k *kvCache) evict(n int) {
	for k.free < n {
		seq := k.coldest(-1)
		k.giveUp(seq, k.leaves(seq, n-k.free))
	}
}

// leaves is the length of a cached sequence without the blocks at its end that were last wanted together, or without as
// many of them as it takes to free need blocks.
func (k *kvCache) leaves(seq, need int) int {
	path := k.seqs[seq].path
	n := len(path)
	for used := path[n-1].node.used; n > 0 && need > 0 && path[n-1].node.used == used; n-- {
		if k.blocks[path[n-1].block].refs == 1 {
			need--
		}
	}
	return n
}

// coldest is the cached sequence to give up first, but never keep: one that has nothing of its own, else the one whose end was
// wanted longest ago.
func (k *kvCache) coldest(keep int) int {
	best, bestSpare := -1, false
	for seq := range k.seqs {
		s := &k.seqs[seq]
		if s.req != nil || len(s.path) == 0 || seq == keep {
			continue
		}
		spare := k.redundant(seq)
		if best < 0 || spare && !bestSpare || spare == bestSpare && k.end(seq) < k.end(best) {
			best, bestSpare = seq, spare
		}
	}
	return best
}

// end is when the last block of a cached sequence was wanted.
func (k *kvCache) end(seq int) uint64 {
	path := k.seqs[seq].path
	return path[len(path)-1].node.used
}

// emptySeq is a sequence that holds nothing, made so if need be, but not of keep.
func (k *kvCache) emptySeq(keep int) int {
	if seq := k.vacant(); seq >= 0 {
		return seq
	}
	seq := k.coldest(keep)
	k.giveUp(seq, 0)
	return seq
}

// vacant is the first sequence that holds nothing, or -1.
func (k *kvCache) vacant() int {
	for seq := range k.seqs {
		if s := &k.seqs[seq]; s.req == nil && len(s.path) == 0 {
			return seq
		}
	}
	return -1
}
