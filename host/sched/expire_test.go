package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
)

const ms = int64(1e6)

// A step takes 20 ms here, and a prompt token 1 ms more. Who has less time than it takes alone is not told to come again, since no wait
// helps; everybody else is.
func TestOnlyWhoCouldBeInTimeAloneIsToldToComeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		req    sched.Request
		behind bool // another request has the only place
		warm   bool // its prompt is cached
		late   int64
		steps  int
		drafts int // that a row may have
		again  bool
	}{
		"less time than a step":                        {req: sched.Request{PromptTokens: 1, Deadline: 19 * ms}},
		"less time than a step, and others before it":  {req: sched.Request{PromptTokens: 1, Deadline: 19 * ms}, behind: true},
		"time for its prompt, and others before it":    {req: sched.Request{PromptTokens: 16, Deadline: 40 * ms}, behind: true, again: true},
		"less time than its prompt takes":              {req: sched.Request{PromptTokens: 64, Deadline: 80 * ms}, behind: true},
		"less time than its prompt, but that is there": {req: sched.Request{PromptTokens: 64, Deadline: 80 * ms}, behind: true, warm: true, again: true},
		"less time than its tokens so far":             {req: sched.Request{PromptTokens: 1, Deadline: 70 * ms}, steps: 3},
		"time for its tokens so far":                   {req: sched.Request{PromptTokens: 1, Deadline: 90 * ms}, steps: 3, again: true},
		"a deadline that had passed when it came":      {req: sched.Request{PromptTokens: 1, Deadline: 900 * ms}, late: 950 * ms, again: true},
		"drafts may be faster":                         {req: sched.Request{PromptTokens: 1, Deadline: 70 * ms}, steps: 3, drafts: 1, again: true},
		"not fast enough":                              {req: sched.Request{PromptTokens: 1, Deadline: 39 * ms}, steps: 3, drafts: 1},
		"it has no drafts":                             {req: sched.Request{PromptTokens: 1, Deadline: 70 * ms, NoSpec: true}, steps: 3, drafts: 1},
		"a time in the queue, and others before it":    {req: sched.Request{PromptTokens: 64, TTL: 1 * ms}, behind: true, again: true},
		"a time in the queue that was over":            {req: sched.Request{PromptTokens: 64, TTL: 1 * ms}, late: 1 * ms, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sched.DefaultConfig(1, 64, 1024, 4096)
			cfg.CopyMin, cfg.SpareSeqs, cfg.MaxDraft = 16, 2, c.drafts
			cfg.Costs.Step[0][0], cfg.Costs.PrefillToken = 20*ms, 1*ms
			d := drive(t, cfg, nil)
			hashes := []uint64{1, 2, 3, 4}
			if c.warm {
				d.arrive(&sched.Request{ID: 1, PromptTokens: 64, MaxTokens: 1, Hashes: hashes})
				d.steps(2)
			}
			if c.behind {
				d.arrive(&sched.Request{ID: 2, PromptTokens: 1, MaxTokens: 500})
				d.steps(1)
			}
			r := c.req
			r.ID, r.MaxTokens, r.Arrival = 3, 500, d.now
			if r.Deadline != 0 {
				r.Deadline += d.now
			}
			if r.PromptTokens == 64 {
				r.Hashes = hashes
			}
			d.now += c.late
			d.Arrive(d.now, &r)
			d.steps(c.steps)
			d.now += 1000 * ms
			d.Tick(d.now)
			if r.Outcome != sched.OutcomeExpired || (r.Verdict.RetryAfter > 0) != c.again {
				t.Errorf("%v with %d tokens, Retry-After %d ns, want one: %v", r.Outcome, r.Generated, r.Verdict.RetryAfter, c.again)
			}
		})
	}
}
