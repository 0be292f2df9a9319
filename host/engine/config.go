package engine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// PolicySource is where the policies in force come from: a plugins.Host, with names for the trace.
type PolicySource interface {
	// Swap is called between two steps by the loop's goroutine. It returns the set in force and whether it changed.
	Swap(now int64) (d abi.Decider, epoch uint32, changed bool)
	// Who resolves who decided, for the trace; trace.FromRequest says how. It is called by the loop's goroutine only.
	Who(id abi.PolicyID) trace.Decider
}

// Config is what an Engine is made of. Device, Tokenizer and Sched are needed.
type Config struct {
	Device    gpu.Device
	Tokenizer gpu.Tokenizer
	Sched     sched.Config
	Policies  PolicySource       // nil = native defaults
	Record    func(trace.Record) // called once a request by the loop's goroutine: it must not block; nil = none
	Classes   []string           // names by class index, for records
	Log       *slog.Logger       // nil = slog.Default

	Drafter            gpu.Drafter // that belongs to Device; nil = n-grams
	NgramMin, NgramMax int         // for speculation plans that name none; 0 = 2 and 4

	NoPrefixCache  bool // no request goes on from another one's KV
	IsolateTenants bool // only from one of the same tenant: how fast a prompt is answered then tells nothing about others' prompts

	Tick       time.Duration // how often what waits is judged; 0 = 10 ms
	Buffer     int           // events a stream holds before its reader counts as too slow; 0 = 1024
	StallAfter time.Duration // a device step that takes longer makes Ready fail; 0 = 30 s
	Memory     Memory        // what is given up when memory runs short
}

func (c *Config) fill() error {
	if c.Device == nil || c.Tokenizer == nil {
		return fmt.Errorf("validate engine: a device and a tokenizer are needed")
	}
	info := c.Device.Info()
	if c.Sched.MaxSeqs > info.MaxSeqs || c.Sched.MaxBatchTokens > info.MaxBatchTokens ||
		c.Sched.ContextTokens > info.ContextTokens || c.Sched.Blocks*c.Sched.BlockSize > info.KVTokens {
		return fmt.Errorf("validate engine: the scheduler's limits are beyond the device's: %d places of %d, %d tokens a step of %d, context %d of %d, %d KV tokens of %d",
			c.Sched.MaxSeqs, info.MaxSeqs, c.Sched.MaxBatchTokens, info.MaxBatchTokens, c.Sched.ContextTokens, info.ContextTokens,
			c.Sched.Blocks*c.Sched.BlockSize, info.KVTokens)
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.NgramMin <= 0 {
		c.NgramMin = 2
	}
	if c.NgramMax < c.NgramMin {
		c.NgramMax = max(4, c.NgramMin)
	}
	if c.Tick <= 0 {
		c.Tick = 10 * time.Millisecond
	}
	if c.Buffer <= 0 {
		c.Buffer = 1024
	}
	if c.StallAfter <= 0 {
		c.StallAfter = 30 * time.Second
	}
	c.Memory.fill()
	return nil
}

func (c *Config) className(class uint8) string {
	if int(class) < len(c.Classes) {
		return c.Classes[class]
	}
	return fmt.Sprintf("class%d", class)
}
