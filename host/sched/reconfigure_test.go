package sched_test

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/sched"
	"pgregory.net/rapid"
)

// Limits and objectives may change between any two actions; sizes may not, and no invariant breaks.
func TestLimitsChangeWhileRequestsAreThere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := sched.DefaultConfig(3, 32, 64, 256)
		d := drive(t, cfg, nil)
		id := uint64(0)
		for range rapid.IntRange(1, 40).Draw(rt, "actions") {
			for range rapid.IntRange(0, 3).Draw(rt, "arrivals") {
				id++
				d.arrive(&sched.Request{ID: id, PromptTokens: 1 + int(id)%20, MaxTokens: 8, Class: uint8(id % 2)})
			}
			next := d.Config()
			next.MaxWaiting = rapid.IntRange(1, 6).Draw(rt, "waiting")
			next.MaxWaitingTokens = rapid.IntRange(1, 60).Draw(rt, "tokens")
			next.ChunkTokens = rapid.IntRange(1, 40).Draw(rt, "chunk")
			next.AgeAfter[0] = int64(rapid.IntRange(0, 50).Draw(rt, "age")) * int64(time.Millisecond)
			next.SLO[1].TPOTNS = int64(rapid.IntRange(0, 90).Draw(rt, "tpot")) * int64(time.Millisecond)
			next.Statuses.QueueFull = rapid.SampledFrom([]int{429, 503, 504, 529}).Draw(rt, "status")
			if err := d.SetConfig(next); err != nil {
				rt.Fatal(err)
			}
			d.steps(rapid.IntRange(0, 5).Draw(rt, "steps"))
		}
		d.steps(400)
		if ended := len(d.TakeEnded()); ended != int(id) {
			rt.Fatalf("%d of %d requests ended", ended, id)
		}
	})
}

func TestSizesDoNotChange(t *testing.T) {
	cfg := sched.DefaultConfig(2, 16, 64, 64)
	d := drive(t, cfg, nil)
	for name, change := range map[string]func(*sched.Config){
		"MaxSeqs": func(c *sched.Config) { c.MaxSeqs = 1 }, "Blocks": func(c *sched.Config) { c.Blocks++ },
		"Seed": func(c *sched.Config) { c.Seed++ }, "MaxWaiting": func(c *sched.Config) { c.MaxWaiting = 0 },
		"Statuses": func(c *sched.Config) { c.Statuses.TTL = 200 },
	} {
		next := cfg
		change(&next)
		if err := d.SetConfig(next); err == nil || d.Config() != cfg {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A lower limit counts for who comes, not for who waits already.
func TestALowerLimitCountsForNewcomers(t *testing.T) {
	cfg := sched.DefaultConfig(1, 16, 64, 64)
	d := drive(t, cfg, nil)
	for id := range uint64(4) {
		d.arrive(&sched.Request{ID: id + 1, PromptTokens: 4, MaxTokens: 4})
	}
	cfg.MaxWaiting, cfg.Statuses.QueueFull = 1, 429
	if err := d.SetConfig(cfg); err != nil {
		t.Fatal(err)
	}
	d.arrive(&sched.Request{ID: 5, PromptTokens: 4, MaxTokens: 4})
	ended := d.TakeEnded()
	if len(ended) != 1 || ended[0].ID != 5 || ended[0].Verdict.Status != 429 || ended[0].Verdict.Limit != "queue_requests" {
		t.Errorf("%+v", ended)
	}
	d.steps(40)
	for _, r := range d.TakeEnded() {
		if r.Outcome != sched.OutcomeLength {
			t.Errorf("%d ended as %v", r.ID, r.Outcome)
		}
	}
}
