package main

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/replay"
)

// A replay names classes as a server does that configures none.
func TestReplayAndServerNameTheSameClasses(t *testing.T) {
	cfg := config.Default()
	if got, want := classNames(&cfg), replay.DefaultClasses(); !slices.Equal(got, want) {
		t.Errorf("the server has %q, the replay %q", got, want)
	}
}

// What the file says of ageing and of statuses is what the scheduler does.
func TestAgesAndStatusesReachTheScheduler(t *testing.T) {
	info := gpu.Info{MaxSeqs: 4, MaxBatchTokens: 512, ContextTokens: 2048, KVTokens: 8192}
	cfg := config.Default()
	cfg.Classes = []config.Class{{Name: "a", TTFT: config.Duration(time.Second)}, {Name: "b"}}
	cfg.Statuses.QueueFull, cfg.Limits.MaxWaitingBytes = 429, 1000
	c := schedConfig(&cfg, info)
	if c.AgeAfter[0] != 20e9 || c.AgeAfter[1] != 16e9 || c.Statuses.QueueFull != 429 || c.Statuses.TTL != 503 || c.MaxWaitingBytes != 1000 {
		t.Errorf("ages %v, statuses %+v, %d bytes", c.AgeAfter[:2], c.Statuses, c.MaxWaitingBytes)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for wanted, want := range map[time.Duration]int64{3 * time.Second: 3e9, -time.Second: 0} {
		cfg.Limits.AgeAfter = config.Duration(wanted)
		if c := schedConfig(&cfg, info); c.AgeAfter[0] != want || c.AgeAfter[1] != want {
			t.Errorf("age_after %v: %v", wanted, c.AgeAfter[:2])
		}
	}
}
