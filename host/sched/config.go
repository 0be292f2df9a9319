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

	ChunkTokens int // prompt tokens in a step in which something decodes, whatever time they take; the objectives bound that

	MaxWaiting       int   // requests in the queue
	MaxWaitingTokens int   // their prompt tokens
	MaxWaitingBytes  int64 // their sizes as they came

	MaxPreemptions int   // of one request; the next one ends it with preempt_failed
	MaxBypass      int   // how often later requests may overtake one that lacks KV blocks
	StallAfter     int64 // ns that something may wait while nothing runs before the host overrides the policies
	RejectingAfter int64 // ns in which requests are rejected and none gets a place before the host says so; 0 = it never does

	AgeAfter [abi.Classes]int64 // ns after which a waiting request may go ahead of the policies' order; 0 = never

	Statuses Statuses

	SpareSeqs int  // sequence ids beyond MaxSeqs that may hold prefixes; 0 = finished requests' places only
	CopyMin   int  // fewest tokens of a prefix that are copied rather than computed; 0 = never
	SharedKV  bool // a copied prefix takes no further KV blocks
	MaxSaved  int  // tokens that may be kept outside the device, of preempted requests and of prefixes; 0 = preemption is by recompute
	Costs     gpu.Costs

	SLO  [abi.Classes]abi.ClassSLO
	Seed uint64 // of State.RngSeed
}

// Statuses are the HTTP statuses of the host's own refusals: 429, 503, 504 or 529.
type Statuses struct {
	QueueFull int // the queue's limits
	TTL       int // the time in the queue is over
	Deadline  int // the time for the answer is over
	Draining  int
	Capacity  int // too many preemptions, too little memory, and a policy that names no status
}

// ageTTFTs is after how many of its class's TTFT objectives a request may go ahead of the policies' order by default.
const ageTTFTs = 20

// DefaultAge is AgeAfter of a class with this objective where nothing else is said; a class without one does not age.
func DefaultAge(ttft int64) int64 { return ageTTFTs * ttft }

// DefaultConfig is a configuration for a device of the given size; BlockSize is 16.
func DefaultConfig(maxSeqs, maxBatchTokens, contextTokens, kvTokens int) Config {
	c := Config{
		MaxSeqs: maxSeqs, MaxBatchTokens: maxBatchTokens, ContextTokens: contextTokens,
		BlockSize: 16, Blocks: kvTokens / 16,
		ChunkTokens: min(maxBatchTokens, 2048),
		MaxWaiting:  1024, MaxWaitingTokens: 4 << 20, MaxWaitingBytes: 64 << 20,
		MaxPreemptions: 8, MaxBypass: 16, StallAfter: int64(200 * time.Millisecond), RejectingAfter: int64(10 * time.Second),
		Statuses: Statuses{statusUnavailable, statusUnavailable, statusUnavailable, statusUnavailable, statusUnavailable},
	}
	for i := range c.SLO {
		c.SLO[i] = abi.ClassSLO{
			TTFTNS: int64(800 * time.Millisecond), TPOTNS: int64(50 * time.Millisecond),
			MaxGapNS: int64(500 * time.Millisecond), ShedBudgetPPM: 5_000,
		}
		c.AgeAfter[i] = DefaultAge(c.SLO[i].TTFTNS)
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
	for _, s := range []int{c.Statuses.QueueFull, c.Statuses.TTL, c.Statuses.Deadline, c.Statuses.Draining, c.Statuses.Capacity} {
		if !RefusalStatus(s) {
			return fmt.Errorf("validate scheduler: a refusal cannot have the status %d", s)
		}
	}
	return nil
}

// RefusalStatus reports whether a refusal by the host may have this status: 429, 503, 504 or 529.
func RefusalStatus(s int) bool {
	return s == statusTooMany || s == statusUnavailable || s == statusTimeout || s == statusOverloaded
}
