package sched

import (
	"slices"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// ageEvery is the share of aged requests among those that get a place: at most one of so many, so that the policies' order still
// counts. Whoever has aged waits for at most so many entries for each aged request before it.
const ageEvery = 4

// lift moves requests that have waited for too long forward in order: the one that waits longest to where it is the ageEvery-th to get
// a place since the last one, and so on by turns. Places that a plan keeps for others do not stop one whose turn it is.
func (c *Core) lift(f *filling, order []*Request) {
	for _, r := range c.lifted {
		r.core.turn, r.core.lifted = false, false
	}
	c.lifted = c.lifted[:0]
	if len(order) == 0 {
		return
	}
	var cursor [abi.Classes]*Request
	for i := range c.lines {
		cursor[i] = c.lines[i].first
	}
	for at := max(0, ageEvery-1-c.entries); at < len(order) && at < c.cfg.MaxSeqs; at += ageEvery {
		r := c.nextAged(f.now, &cursor)
		if r == nil {
			return
		}
		from := slices.Index(order, r)
		if from > at {
			copy(order[at+1:from+1], order[at:from])
			order[at] = r
		}
		if from >= at {
			r.core.turn, r.core.lifted = true, from > at || f.lim.keepsOut(r)
			c.lifted = append(c.lifted, r)
		}
	}
}

// pinAged keeps the places of those that got them by age: of as many as one place in ageEvery, so that the better classes still find
// somebody whom they may push out.
func (c *Core) pinAged() {
	left := c.cfg.MaxSeqs / ageEvery
	for _, r := range c.running {
		if r.core.aged && left > 0 {
			r.core.flags |= abi.RankFlagPinned
			left--
		}
	}
}

// keepsOut reports whether the plan has places that r may not take.
func (l *limits) keepsOut(r *Request) bool {
	return r.Class != 0 && l.reserve > 0 || l.classSeqs[r.Class] < l.seqs
}

// nextAged takes the request that waits longest from the cursors of those that have aged; nil when none is left.
func (c *Core) nextAged(now int64, cursor *[abi.Classes]*Request) (oldest *Request) {
	for i := range cursor {
		r, after := cursor[i], c.cfg.AgeAfter[i]
		for r != nil && r.core.preempted { // it comes back before all these anyway
			r = r.core.next
		}
		if cursor[i] = r; r == nil || after <= 0 || c.waited(now, r) < after {
			cursor[i] = nil
			continue
		}
		if oldest == nil || r.core.queuedAt < oldest.core.queuedAt || r.core.queuedAt == oldest.core.queuedAt && r.ID < oldest.ID {
			oldest = r
		}
	}
	if oldest != nil {
		cursor[oldest.Class] = oldest.core.next
	}
	return oldest
}

// started notes that r has its first place.
func (c *Core) started(f *filling, r *Request) {
	r.Scheduled, r.PriorityBy = f.now, f.rankBy
	r.core.expires = 0 // a TTL is for the queue
	c.win.scheduled(f.now, r)
	c.rejecting = 0
	c.entries++
	ahead := int64(0)
	if r.core.turn {
		c.entries, r.core.aged = 0, true
	}
	if r.core.lifted {
		ahead = 1
		c.stats.Aged++
		c.notice(Notice{Kind: NoticeAged, At: f.now, ID: r.ID, Class: r.Class, Value: c.waited(f.now, r), By: f.rankBy})
	}
	c.event(abi.EventKindScheduled, f.now, r, ahead)
}
