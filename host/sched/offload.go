package sched

import (
	"slices"
	"sort"

	"github.com/sluice-dev/sluice/gpu"
)

// offloaded is a prefix that the device had to give up and that is kept outside it.
type offloaded struct {
	id     uint64   // in operations
	hashes []uint64 // of its blocks
}

// outside is what is kept outside the device, in tokens: of preempted requests, and prefixes that nothing runs on. The former go
// first; the prefixes have what room is left, and the least recently wanted one makes room for the next.
type outside struct {
	room     int // for all
	requests int
	prefixes int
	list     []*offloaded // the prefixes, least recently wanted first
	next     uint64       // id
	off      bool         // prefixes are given up for good: nothing is gained by keeping them, or there is no memory for it

	offloaded, reloaded uint64 // tokens so far
}

const (
	firstOffloaded = 1 << 63 // ids of prefixes in operations; requests' are below
	mostOffloaded  = 256     // prefixes: each newcomer is compared with all of them
)

func newOutside(cfg *Config) outside {
	return outside{room: cfg.MaxSaved, next: firstOffloaded, off: !worthSaving(&cfg.Costs)}
}

// worthSaving tells whether to save and restore is known to be faster than to compute.
func worthSaving(c *gpu.Costs) bool { return c.SaveToken > 0 && c.SaveToken < c.PrefillToken }

// giveUp cuts a sequence that nothing runs on to its first n blocks for the sake of others. What only it holds is offloaded first.
func (k *kvCache) giveUp(seq, n int) {
	before := k.free
	k.offload(seq)
	k.trim(seq, n)
	k.evicted += uint64(k.free - before)
}

// offload keeps a copy of a sequence outside the device, in the place of what it goes on from, unless there is one or there is
// no room.
func (k *kvCache) offload(seq int) {
	s, o := &k.seqs[seq], &k.outside
	n := len(s.path)
	if o.off || s.kept || n == 0 || !s.path[n-1].alone() || o.requests+n*k.size > o.room {
		return
	}
	hashes := make([]uint64, n)
	for i, h := range s.path {
		hashes[i] = h.node.hash
	}
	if x, have := k.offloadedMatch(hashes); have == n {
		k.want(x)
		s.kept = true
		return
	}
	k.dropOffloaded(func(x *offloaded) bool {
		last := len(x.hashes) - 1
		return last < n && hashes[last] == x.hashes[last]
	})
	if !k.makeRoom(n * k.size) {
		return
	}
	x := &offloaded{id: o.next, hashes: hashes}
	o.next++
	o.list = append(o.list, x)
	o.prefixes += n * k.size
	o.offloaded += uint64(n * k.size)
	s.kept = true
	k.ops = append(k.ops, Op{Kind: OpSave, Seq: seq, Tokens: n * k.size, ID: x.id})
}

// want makes x the last one to make room for others.
func (k *kvCache) want(x *offloaded) {
	list := k.outside.list
	at := slices.Index(list, x)
	copy(list[at:], list[at+1:])
	list[len(list)-1] = x
}

// makeRoom gives up the prefixes wanted longest ago until n tokens more can be kept, and reports whether they can.
func (k *kvCache) makeRoom(n int) bool {
	o := &k.outside
	if o.requests+n > o.room {
		return false
	}
	for o.requests+o.prefixes+n > o.room || len(o.list) == mostOffloaded {
		at := slices.IndexFunc(o.list, func(x *offloaded) bool { return x != k.wanted })
		if at < 0 {
			return false
		}
		oldest := o.list[at]
		k.dropOffloaded(func(x *offloaded) bool { return x == oldest })
	}
	return true
}

// dropOffloaded forgets the prefixes that which names.
func (k *kvCache) dropOffloaded(which func(*offloaded) bool) {
	o := &k.outside
	o.list = slices.DeleteFunc(o.list, func(x *offloaded) bool {
		if x == k.wanted || !which(x) {
			return false
		}
		o.prefixes -= len(x.hashes) * k.size
		k.ops = append(k.ops, Op{Kind: OpForget, ID: x.id})
		return true
	})
}

// offloadedMatch is the offloaded prefix that has the most of a text with these hashes, and how many blocks; nil = none has any.
func (k *kvCache) offloadedMatch(hashes []uint64) (best *offloaded, blocks int) {
	if len(hashes) == 0 {
		return nil, 0
	}
	for _, x := range k.outside.list {
		if x.hashes[0] != hashes[0] {
			continue
		}
		n := min(len(x.hashes), len(hashes))
		if n = sort.Search(n, func(i int) bool { return x.hashes[i] != hashes[i] }); n > blocks || n == blocks && len(x.hashes) < len(best.hashes) {
			best, blocks = x, n
		}
	}
	return best, blocks
}

// reload fills an empty sequence with the first n blocks of an offloaded prefix, which stays where it is.
func (k *kvCache) reload(seq int, x *offloaded, n int) {
	k.want(x)
	all := len(x.hashes) * k.size
	k.ops = append(k.ops, Op{Kind: OpRestore, Seq: seq, Tokens: all, ID: x.id, Keep: true})
	if n < len(x.hashes) {
		k.ops = append(k.ops, Op{Kind: OpTrim, Seq: seq, Tokens: n * k.size})
	}
	k.outside.reloaded += uint64(n * k.size)
}

// wayBack is how r would enter on an offloaded prefix, if that saves time beside e, the way in without one, and there are KV blocks
// for it: it shares none, as e may.
func (c *Core) wayBack(r *Request, e entry) (entry, bool) {
	if len(c.kv.outside.list) == 0 || c.entryBlocks(r) > c.kv.available() {
		return entry{}, false
	}
	x, n := c.kv.offloadedMatch(r.core.hashes)
	n = c.reusable(r, n)
	more := int64(n*c.cfg.BlockSize - e.tokens)
	if x == nil || more*c.cfg.Costs.PrefillToken <= int64(len(x.hashes)*c.cfg.BlockSize)*c.cfg.Costs.SaveToken {
		return entry{}, false
	}
	need := max(c.entryBlocks(r), len(x.hashes))
	if need > c.kv.available() {
		return entry{}, false
	}
	return entry{kind: entryReloaded, from: x, soon: c.kv.saves(x.id), blocks: n, tokens: n * c.cfg.BlockSize, need: need}, true
}

// saves tells whether an operation of the step that is being built saves something under id.
func (k *kvCache) saves(id uint64) bool {
	return slices.ContainsFunc(k.ops, func(op Op) bool { return op.Kind == OpSave && op.ID == id })
}

// heldShare is by how much, in percent, prefixes that nothing runs on may lengthen a step where they would be lost for good.
const heldShare = 2

// limitCached gives up cached prefixes, where they slow the step that is being built, as a cache does in which each row looks at
// all that is held (gpu.Costs.HeldToken): all of them if they can be offloaded, since to save a token takes no longer than to hold it
// through some dozens of rows. That is done before a newcomer's first prompt token is computed and not before its first decode: what it
// computes is then put where they were, and not behind them, where the holes would stretch what each row looks at until it ends. Where
// something decodes, saving takes about as long as the step at most, but one is always saved.
func (c *Core) limitCached() {
	k, rows := &c.kv, len(c.batch.Rows)
	slow := int64(rows*k.size) * c.cfg.Costs.HeldToken // ns for each block
	if slow == 0 {
		return
	}
	most, left := 0, int64(longest)
	if c.batch.decoding > 0 {
		left = c.pace.decoding(c.batch.decoding)
	}
	if k.outside.off {
		most = int(c.pace.decoding(rows) * heldShare / 100 / slow)
	}
	for k.cached > most && left >= 0 {
		before := k.outside.offloaded
		seq := k.coldest(-1)
		k.giveUp(seq, k.leaves(seq, k.cached-most))
		left -= int64(k.outside.offloaded-before) * c.cfg.Costs.SaveToken
	}
}
