package sched

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Config is the host's hard limits and objectives. No policy can go beyond them.
type Config struct {
	MaxSeqs        int // places in the batch; sequence ids are 0..MaxSeqs+SpareSeqs-1
	MaxBatchTokens int // tokens of one step, drafts included; >= MaxSeqs
	ContextTokens  int // longest request, prompt and output together
	BlockSize      int // tokens in a KV block
	Blocks         int // KV blocks of the device
	MaxDraft       int // most draft tokens a row, 0..abi.MaxDraft; 0 = no drafter

	ChunkTokens int // prompt tokens in a step in which something decodes

	MaxWaiting       int   // requests in the queue
	MaxWaitingTokens int   // their prompt tokens
	MaxWaitingBytes  int64 // their sizes as they came

	MaxPreemptions int   // of one request; the next one ends it with preempt_failed
	MaxBypass      int   // how often later requests may overtake one that lacks KV blocks
	StallAfter     int64 // ns that something may wait while nothing runs before the host overrides the policies

	SpareSeqs int  // sequence ids beyond MaxSeqs that may hold prefixes; 0 = finished requests' places only
	CopyMin   int  // fewest tokens of a prefix that are copied rather than computed; 0 = never
	SharedKV  bool // a copied prefix takes no further KV blocks
	MaxSaved  int  // tokens of preempted requests that may be kept outside the device; 0 = preemption is by recompute
	Costs     gpu.Costs

	SLO  [abi.Classes]abi.ClassSLO
	Seed uint64 // of State.RngSeed
}

// DefaultConfig is a configuration for a device of the given size; BlockSize is 16.
func DefaultConfig(maxSeqs, maxBatchTokens, contextTokens, kvTokens int) Config {
	c := Config{
		MaxSeqs: maxSeqs, MaxBatchTokens: maxBatchTokens, ContextTokens: contextTokens,
		BlockSize: 16, Blocks: kvTokens / 16,
		ChunkTokens: min(maxBatchTokens, 128),
		MaxWaiting:  1024, MaxWaitingTokens: 4 << 20, MaxWaitingBytes: 64 << 20,
		MaxPreemptions: 8, MaxBypass: 16, StallAfter: int64(200 * time.Millisecond),
	}
	for i := range c.SLO {
		c.SLO[i] = abi.ClassSLO{
			TTFTNS: int64(800 * time.Millisecond), TPOTNS: int64(50 * time.Millisecond),
			MaxGapNS: int64(500 * time.Millisecond), ShedBudgetPPM: 5_000,
		}
	}
	return c
}

// Validate reports the first setting that cannot work, by its name.
func (c Config) Validate() error {
	for _, f := range []struct {
		name     string
		v, least int
	}{
		{"MaxSeqs", c.MaxSeqs, 1}, {"MaxBatchTokens", c.MaxBatchTokens, c.MaxSeqs}, {"ContextTokens", c.ContextTokens, 2},
		{"BlockSize", c.BlockSize, 1}, {"Blocks", c.Blocks, 1}, {"MaxDraft", c.MaxDraft, 0}, {"ChunkTokens", c.ChunkTokens, 1},
		{"MaxWaiting", c.MaxWaiting, 1}, {"MaxWaitingTokens", c.MaxWaitingTokens, 1}, {"MaxPreemptions", c.MaxPreemptions, 0},
		{"MaxBypass", c.MaxBypass, 0}, {"SpareSeqs", c.SpareSeqs, 0}, {"CopyMin", c.CopyMin, 0}, {"MaxSaved", c.MaxSaved, 0},
	} {
		if f.v < f.least {
			return fmt.Errorf("validate scheduler: %s is %d, must be at least %d", f.name, f.v, f.least)
		}
	}
	if c.MaxDraft > abi.MaxDraft {
		return fmt.Errorf("validate scheduler: MaxDraft is %d, must be at most %d", c.MaxDraft, abi.MaxDraft)
	}
	if c.MaxSeqs > abi.MaxRows {
		return fmt.Errorf("validate scheduler: MaxSeqs is %d, must be at most %d", c.MaxSeqs, abi.MaxRows)
	}
	if c.MaxWaitingBytes < 1 || c.StallAfter < 1 {
		return fmt.Errorf("validate scheduler: MaxWaitingBytes and StallAfter must be positive")
	}
	return nil
}
