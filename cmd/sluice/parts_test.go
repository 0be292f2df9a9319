package main

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu"
)

// What the device can do with KV reaches the scheduler, and what it cannot do stays off.
func TestTheSchedulerUsesWhatTheDeviceCanDoWithKV(t *testing.T) {
	info := gpu.Info{MaxSeqs: 4, MaxBatchTokens: 64, ContextTokens: 512, KVTokens: 1000}
	cfg := config.Default()
	plain := schedConfig(&cfg, info)
	if plain.SpareSeqs != 0 || plain.CopyMin != 0 || plain.SharedKV || plain.MaxSaved != 0 {
		t.Errorf("a device that can do nothing beside computing: %+v", plain)
	}
	info.SpareSeqs, info.CopyMin, info.SharedKV, info.CanSave = 8, 32, true, true
	able := schedConfig(&cfg, info)
	if able.SpareSeqs != 8 || able.CopyMin != 32 || !able.SharedKV || able.MaxSaved != 992 {
		t.Errorf("a device that copies, shares and saves: %+v", able)
	}
	if err := able.Validate(); err != nil {
		t.Error(err)
	}
	for wanted, got := range map[int]int{-1: 0, 64: 64, 5000: 5000} {
		cfg.Limits.SavedTokens = wanted
		if n := schedConfig(&cfg, info).MaxSaved; n != got {
			t.Errorf("limits.saved_tokens of %d lets %d be kept", wanted, n)
		}
	}
}

func TestEveryReliefOfAConfigurationIsOneOfTheEngines(t *testing.T) {
	for n := range len(config.MemoryReliefs) + 1 {
		m := memoryLimit(&config.Limits{MemoryBytes: 1 << 30, MemoryOrder: config.MemoryReliefs[:n]})
		if m.Limit != 1<<30 || len(m.Order) != n {
			t.Fatalf("the first %d: %+v", n, m)
		}
		for i, r := range m.Order {
			if r.String() == "" || slices.Contains(m.Order[:i], r) {
				t.Errorf("%s is relief %d of the engine", config.MemoryReliefs[i], r)
			}
		}
	}
}
