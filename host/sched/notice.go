package sched

import "github.com/sluice-dev/sluice/plugins/abi"

// NoticeKind is what a Notice reports.
type NoticeKind uint8

// The kinds of Notice.
const (
	NoticeForced     NoticeKind = iota // nothing ran for Value ns while request ID waited: it ran against the policies' will
	NoticeAged                         // request ID had waited for Value ns and ran ahead of the policies' order
	NoticeRejecting                    // for Value ns requests were rejected and none got a place; ID was the last one, rejected by By
	NoticeInfeasible                   // request ID, with Value prompt tokens, can never fit: Limit says why
	noticeKinds
)

var noticeNames = [noticeKinds]string{"forced", "aged", "rejecting", "infeasible"}

// String returns the kind's name as it stands in logs.
func (k NoticeKind) String() string {
	if k < noticeKinds {
		return noticeNames[k]
	}
	return "unknown"
}

// Notice is something that an operator should hear of. One of each kind a second is kept, and says how many it stands for.
type Notice struct {
	Kind  NoticeKind
	At    int64 // ns
	ID    uint64
	Class uint8
	Value int64        // see NoticeKind
	Limit string       // as in Verdict
	By    abi.PolicyID // who decided; abi.Native for the host
	Times uint64       // how many of the kind there were since the last notice of it, this one included
}

// noticeLog holds what has not been taken, and when each kind was last said.
type noticeLog struct {
	pending, taken []Notice
	said           [noticeKinds]int64
	times          [noticeKinds]uint64
}

// maxNotices bounds what is kept for a caller that never takes any.
const maxNotices = 64

func (c *Core) notice(n Notice) {
	l := &c.notices
	l.times[n.Kind]++
	if said := l.said[n.Kind]; said != 0 && n.At-said < second || len(l.pending) == maxNotices {
		return
	}
	l.said[n.Kind], n.Times, l.times[n.Kind] = n.At, l.times[n.Kind], 0
	l.pending = append(l.pending, n)
}

// TakeNotices returns the notices since the last call. The slice is valid until the next call.
func (c *Core) TakeNotices() []Notice {
	l := &c.notices
	l.pending, l.taken = l.taken[:0], l.pending
	return l.taken
}

// rejects notes a rejection. Once there has been nothing but rejections for RejectingAfter, it is said, and again each time as much
// has passed.
func (c *Core) rejects(now int64, r *Request) {
	if c.rejecting == 0 {
		c.rejecting = now
	}
	if d := now - c.rejecting; c.cfg.RejectingAfter > 0 && d >= c.cfg.RejectingAfter {
		c.rejecting = now
		c.stats.Rejecting++
		c.notice(Notice{Kind: NoticeRejecting, At: now, ID: r.ID, Class: r.Class, Value: d, Limit: r.Verdict.Limit, By: r.AdmitBy})
	}
}
