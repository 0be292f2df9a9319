package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// decisionLog digests every step that was planned and every way that a request ended. Two runs with equal digests made
// the same decisions at the same virtual times.
type decisionLog struct {
	hash  hash.Hash
	buf   []byte
	who   func(abi.PolicyID) trace.Decider
	named map[abi.PolicyID]int64 // policies in the order of their first decision: their numbers differ between processes
}

func newDecisionLog(who func(abi.PolicyID) trace.Decider) *decisionLog {
	return &decisionLog{hash: sha256.New(), who: who, named: map[abi.PolicyID]int64{}}
}

// The kinds of entries.
const (
	entryStep int64 = 1 + iota
	entryEnd
	entryPolicy
)

func (l *decisionLog) step(now int64, b *sched.Batch) {
	l.put(entryStep, now, int64(b.Step), int64(len(b.Rows)), int64(len(b.Ops)),
		int64(b.Spec.NgramMin), int64(b.Spec.NgramMax), int64(b.Spec.VerifySlots))
	for _, op := range b.Ops {
		l.put(int64(op.Kind), int64(op.Seq), int64(op.From), int64(op.Tokens), int64(op.ID))
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		l.put(int64(r.Req.ID), int64(r.Seq), int64(r.Start), int64(r.Tokens), int64(r.Draft))
	}
	l.flush()
}

func (l *decisionLog) ended(r *sched.Request) {
	by := [4]int64{l.policy(r.AdmitBy), l.policy(r.PriorityBy), l.policy(r.BatchBy), l.policy(r.SpecBy)}
	l.put(entryEnd, r.Ended, int64(r.ID), int64(r.Outcome), int64(r.Verdict.Status), int64(r.Verdict.Reason), r.Verdict.RetryAfter,
		r.Scheduled, r.FirstToken, r.LastToken, r.MaxGap, int64(r.Generated), int64(r.Preemptions), int64(r.Drafted), int64(r.Accepted))
	l.put(by[:]...)
	l.flush()
}

// policy returns the policy's number in this log, and enters its name where it is new.
func (l *decisionLog) policy(id abi.PolicyID) int64 {
	if n, ok := l.named[id]; ok {
		return n
	}
	n := int64(len(l.named))
	l.named[id] = n
	name := strconv.Itoa(int(id))
	if l.who != nil {
		d := l.who(id)
		name = d.Policy + "@" + d.Digest + strconv.FormatBool(d.Fallback)
	}
	l.put(entryPolicy, n, int64(len(name)))
	l.buf = append(l.buf, name...)
	return n
}

func (l *decisionLog) put(values ...int64) {
	for _, v := range values {
		l.buf = binary.AppendVarint(l.buf, v)
	}
}

func (l *decisionLog) flush() {
	if len(l.buf) >= 1<<12 {
		l.hash.Write(l.buf)
		l.buf = l.buf[:0]
	}
}

// sum ends the log.
func (l *decisionLog) sum() string {
	l.hash.Write(l.buf)
	return hex.EncodeToString(l.hash.Sum(nil))
}
