package plugins

import (
	"context"
	"math"
)

const pageBytes = 64 << 10

// mark is the size of memory, in bytes, at which an instance that started with so many is replaced by a fresh one: three
// quarters of its limit, and a quarter of the limit beyond its start, so that no instance is replaced for its start's sake.
func (v *version) mark(start uint32) uint64 {
	limit := uint64(v.pages) * pageBytes
	mark := max(limit/4*3, uint64(start)+limit/4)
	if mark > limit {
		return math.MaxUint64
	}
	return mark
}

// recycle replaces the instances whose memory has passed its mark, between two steps. One without a spare goes on until
// the keeper has made one.
func (h *Host) recycle(now int64) {
	for _, v := range h.current.all {
		if v.grown() {
			h.renew(v, now)
		}
	}
	for _, s := range h.current.shadows {
		if s.v.grown() {
			h.renew(s.v, now)
		}
	}
}

func (v *version) grown() bool { return v.cur != nil && uint64(v.cur.inst.Size()) >= v.cur.mark }

// renew puts a fresh instance with the old one's state in its place.
func (h *Host) renew(v *version, now int64) {
	fresh := v.spare.Swap(nil)
	if h.opt.Inline {
		g, _, err := newGuest(context.Background(), v, false)
		if err != nil {
			h.tell(Event{Kind: EventSpareFailed, Name: v.name, Digest: v.digest, Err: err, At: now})
		}
		fresh = g
	}
	h.poke()
	if fresh == nil {
		return
	}
	old := v.cur
	v.cur = fresh
	h.carry(old, v, now)
	v.stats.recycled.Add(1)
	h.tell(Event{Kind: EventRecycled, Name: v.name, Digest: v.digest, At: now, Shadow: v.shadow != nil})
	h.discard(old.close)
}
