package trace

import (
	"fmt"

	"github.com/sluice-dev/sluice/host/sched"
)

// Validate reports the first invariant that the record breaks, wrapped around ErrInvalid: stamps are monotone (arrival
// <= scheduled <= first <= last <= end), sums agree, what was not reached is absent and not 0, and there is an outcome.
func (r *Record) Validate() error {
	for _, check := range []func(*Record) error{checkHead, checkOutcome, checkTimes, checkEmissions, checkGaps} {
		if err := check(r); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}

func checkHead(r *Record) error {
	if r.V < 1 || r.V > Version {
		return fmt.Errorf("version %d, want 1 to %d", r.V, Version)
	}
	if r.ID == "" {
		return fmt.Errorf("no id")
	}
	for _, f := range []struct {
		name string
		v    int64
	}{
		{"arrival_unix_ns", r.Arrival}, {"prompt_tokens", int64(r.PromptTokens)}, {"max_tokens", int64(r.MaxTokens)},
		{"output_tokens", int64(r.OutputTokens)}, {"attempt", int64(r.Attempt)}, {"ttl_ns", r.TTL}, {"e2e_ns", r.E2E},
		{"retry_after_ns", r.RetryAfter}, {"emissions", int64(r.Emissions)}, {"preemptions", int64(r.Preemptions)},
		{"tokens_lost", int64(r.TokensLost)}, {"requeued_ns", r.Requeued}, {"cached_tokens", int64(r.CachedTokens)},
		{"drafted", int64(r.Drafted)}, {"accepted", int64(r.Accepted)}, {"queue_ns", value(r.Queue)},
		{"ttft_ns", value(r.TTFT)}, {"tpot_ns", value(r.TPOT)}, {"max_gap_ns", value(r.MaxGap)}, {"first_write_ns", value(r.Written)},
	} {
		if f.v < 0 {
			return fmt.Errorf("%s is %d", f.name, f.v)
		}
	}
	if r.Accepted > r.Drafted {
		return fmt.Errorf("accepted %d of %d drafted tokens", r.Accepted, r.Drafted)
	}
	return nil
}

func checkOutcome(r *Record) error {
	o, ok := ParseOutcome(r.Outcome)
	switch {
	case !ok:
		return fmt.Errorf("outcome %q", r.Outcome)
	case r.Imported != "":
		return checkImported(r)
	case neverRan(o) && (r.Queue != nil || r.TTFT != nil || r.OutputTokens != 0):
		return fmt.Errorf("outcome %s, yet it ran", o)
	case o == sched.OutcomeLength && r.OutputTokens == 0:
		return fmt.Errorf("outcome %s without output", o)
	case (o == sched.OutcomeCompleted || o == sched.OutcomeLength || o == sched.OutcomeCancelledRunning) && r.Queue == nil:
		return fmt.Errorf("outcome %s, yet it was never scheduled", o)
	}
	return nil
}

func checkImported(r *Record) error {
	if r.PromptTokens < 1 || r.OutputTokens < 1 {
		return fmt.Errorf("%d prompt and %d output tokens; both must be positive", r.PromptTokens, r.OutputTokens)
	}
	if r.Queue != nil || r.TTFT != nil || r.TPOT != nil || r.MaxGap != nil || r.Written != nil || len(r.Gaps) > 0 {
		return fmt.Errorf("imported from %s, yet it carries latencies", r.Imported)
	}
	return nil
}

// ParseOutcome finds an outcome by its name. OutcomeNone is not one.
func ParseOutcome(name string) (sched.Outcome, bool) {
	for _, o := range sched.Outcomes() {
		if o.String() == name {
			return o, true
		}
	}
	return sched.OutcomeNone, false
}

func neverRan(o sched.Outcome) bool {
	return o == sched.OutcomeShedAtArrival || o == sched.OutcomeShedFromQueue || o == sched.OutcomeCancelledInQueue
}

func checkTimes(r *Record) error {
	if r.Imported != "" {
		return nil
	}
	switch {
	case (r.TTFT != nil) != (r.OutputTokens > 0):
		return fmt.Errorf("%d output tokens, ttft_ns present: %t", r.OutputTokens, r.TTFT != nil)
	case (r.TPOT != nil) != (r.OutputTokens > 1):
		return fmt.Errorf("%d output tokens, tpot_ns present: %t", r.OutputTokens, r.TPOT != nil)
	case r.TTFT != nil && r.Queue == nil:
		return fmt.Errorf("a first token without a place in the batch")
	case value(r.Queue) > r.E2E:
		return fmt.Errorf("queue_ns %d > e2e_ns %d", *r.Queue, r.E2E)
	case r.TTFT != nil && *r.TTFT < *r.Queue:
		return fmt.Errorf("ttft_ns %d < queue_ns %d", *r.TTFT, *r.Queue)
	case value(r.TTFT) > r.E2E:
		return fmt.Errorf("ttft_ns %d > e2e_ns %d", *r.TTFT, r.E2E)
	case r.TPOT != nil && *r.TPOT > (r.E2E-*r.TTFT)/int64(r.OutputTokens-1):
		return fmt.Errorf("the last token comes after the end: ttft_ns %d, %d tokens at tpot_ns %d, e2e_ns %d",
			*r.TTFT, r.OutputTokens, *r.TPOT, r.E2E)
	}
	return nil
}

func checkEmissions(r *Record) error {
	if r.Imported != "" {
		return nil
	}
	switch {
	case r.Emissions > r.OutputTokens || (r.Emissions == 0) != (r.OutputTokens == 0):
		return fmt.Errorf("%d emissions of %d tokens", r.Emissions, r.OutputTokens)
	case (r.MaxGap != nil) != (r.Emissions > 1):
		return fmt.Errorf("%d emissions, max_gap_ns present: %t", r.Emissions, r.MaxGap != nil)
	case r.MaxGap != nil && *r.MaxGap > r.E2E-*r.TTFT:
		return fmt.Errorf("max_gap_ns %d > time from first token to end %d", *r.MaxGap, r.E2E-*r.TTFT)
	}
	return nil
}

// checkGaps holds the stored events against the sums of the record. They are absent where they were not recorded.
func checkGaps(r *Record) error {
	if len(r.Gaps) == 0 || r.Imported != "" {
		return nil
	}
	var sum, largest int64
	tokens := 0
	for i, g := range r.Gaps {
		if g.NS < 0 || g.Tokens < 1 || (i == 0 && g.NS != 0) || g.NS > r.E2E-sum {
			return fmt.Errorf("gap %d is %d ns with %d tokens", i, g.NS, g.Tokens)
		}
		sum, tokens, largest = sum+g.NS, tokens+g.Tokens, max(largest, g.NS)
	}
	switch {
	case len(r.Gaps) != r.Emissions || tokens != r.OutputTokens:
		return fmt.Errorf("gaps hold %d emissions of %d tokens, the record %d of %d", len(r.Gaps), tokens, r.Emissions, r.OutputTokens)
	case r.MaxGap != nil && largest != *r.MaxGap:
		return fmt.Errorf("largest gap %d, max_gap_ns %d", largest, *r.MaxGap)
	case r.TPOT != nil && sum/int64(r.OutputTokens-1) != *r.TPOT:
		return fmt.Errorf("gaps sum up to %d over %d tokens, tpot_ns is %d", sum, r.OutputTokens, *r.TPOT)
	case sum > r.E2E-*r.TTFT:
		return fmt.Errorf("the last token comes %d ns after the end", sum-(r.E2E-*r.TTFT))
	}
	return nil
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}
