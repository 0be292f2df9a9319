package sluice

// Abstain leaves a request to the next policy of the chain, or to the host.
func Abstain() Verdict { return verdict(ActionAbstain) }

// Admit lets a request in.
func Admit() Verdict { return verdict(ActionAdmit) }

// Degrade lets a request in under the limits that are set on the verdict.
func Degrade() Verdict { return verdict(ActionDegrade) }

// Reject ends a request with an HTTP status (429, 503 or 529; 0 = 503) and a reason. Without RetryAfter the host computes
// the Retry-After from the rate at which the queue drains.
func Reject(status uint16, reason Reason) Verdict {
	v := verdict(ActionReject)
	v.Status, v.Reason = status, uint16(reason)
	return v
}

func verdict(a Action) Verdict {
	return Verdict{Action: uint8(a), ClassOverride: -1, SpeculationCap: -1}
}

// RetryAfter says how long the client is to wait, in ns, rounded up to a millisecond.
func (v Verdict) RetryAfter(ns int64) Verdict {
	v.RetryAfterMs = milliseconds(ns)
	return v
}

// QueueTTL limits the further time in the queue, in ns, rounded up to a millisecond.
func (v Verdict) QueueTTL(ns int64) Verdict {
	v.QueueTTLMs = milliseconds(ns)
	return v
}

// Class has the request treated as one of another class, 0 to Classes-1.
func (v Verdict) Class(c int) Verdict {
	v.ClassOverride = int8(c & (Classes - 1))
	return v
}

// Priority has the request treated as one of another client priority; lower is earlier.
func (v Verdict) Priority(p int32) Verdict {
	v.PriorityOverride, v.HasPriority = p, 1
	return v
}

// MaxTokens limits the output tokens; 0 is no limit.
func (v Verdict) MaxTokens(n uint32) Verdict {
	v.MaxTokensCap = n
	return v
}

// Speculation limits the draft tokens a step; 0 turns them off for this request.
func (v Verdict) Speculation(k int32) Verdict {
	v.SpeculationCap = max(k, 0)
	return v
}

// Because gives an admission a reason.
func (v Verdict) Because(r Reason) Verdict {
	v.Reason = uint16(r)
	return v
}

// milliseconds rounds up, so that a wish of 1 ns is not none at all.
func milliseconds(ns int64) uint32 {
	if ns <= 0 {
		return 0
	}
	ms := (ns-1)/Millisecond + 1
	return uint32(min(ms, 1<<32-1))
}
