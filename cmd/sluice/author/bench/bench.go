package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Options say how thoroughly to measure.
type Options struct {
	Time time.Duration // for each figure; 0 = 200 ms
	Rows []int         // how many requests are asked about; nil = DefaultRows
}

// DefaultRows are one request, a batch, a full call, and queues that take many calls.
var DefaultRows = []int{1, 16, 256, 1000, 10_000}

// Figure is what one hook costs at one size.
type Figure struct {
	Hook        string  `json:"hook"`
	Rows        int     `json:"rows"`  // or events; 0 for a hook that sees none
	Calls       int     `json:"calls"` // of the guest that the rows take
	NS          int64   `json:"ns"`    // for all of them, the median
	NativeNS    int64   `json:"native_ns"`
	Fuel        uint64  `json:"fuel"` // units, for all of them
	Allocs      float64 `json:"allocs"`
	MemoryGrown uint64  `json:"memory_grown"` // bytes by which the guest's memory grew while this was measured
	Faults      uint64  `json:"faults"`       // calls that failed while this was measured
}

// Run measures every hook that the policy has. A *plugins.RefusedError says that it is not taken.
func Run(ctx context.Context, box *sandbox.Box, name string, wasm []byte, config map[string]string, opt Options) ([]Figure, error) {
	p, err := box.Load(ctx, name, wasm, config)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if opt.Time <= 0 {
		opt.Time = 200 * time.Millisecond
	}
	if opt.Rows == nil {
		opt.Rows = DefaultRows
	}
	var all []Figure
	for _, h := range sandbox.Asked {
		if !p.Hooks().Has(h) {
			continue
		}
		sizes := opt.Rows
		if !sandbox.SeesRows(h) && h != abi.HookEvents {
			sizes = []int{0}
		}
		for _, n := range sizes {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("measure policy %s: %w", name, context.Cause(ctx))
			}
			all = append(all, measure(p, h, n, opt.Time))
		}
	}
	return all, nil
}

// measure takes one figure.
func measure(p *sandbox.Policy, h abi.Hook, rows int, d time.Duration) Figure {
	q := newQuestion(h, rows)
	st := &q.state
	set := p.Set(st.NowNS)
	f := Figure{Hook: sandbox.HookName(h), Rows: rows, Calls: q.calls()}
	faults, memory := p.Faults(), p.Memory()
	q.each(set, func() { f.Fuel += p.Fuel(h) })
	f.NS, f.Allocs = timed(d, func() { q.ask(set) })
	f.MemoryGrown = max(p.Memory(), memory) - memory
	f.Faults = p.Faults() - faults
	f.NativeNS, _ = timed(d/4, func() { q.ask(&q.native) })
	return f
}

// question is one hook's call with memory for all that it takes and gives.
type question struct {
	hook     abi.Hook
	state    abi.State
	rows     []abi.Row
	events   []abi.Event
	verdicts []abi.Verdict
	by       []abi.PolicyID
	rankings []abi.Ranking
	k        []int32
	batch    abi.BatchPlan
	spec     abi.SpecPlan
	native   native
}

func newQuestion(h abi.Hook, n int) *question {
	window := min(n, abi.MaxRows)
	q := &question{
		hook: h, state: busy(n), verdicts: make([]abi.Verdict, window), by: make([]abi.PolicyID, window),
		rankings: make([]abi.Ranking, window), k: make([]int32, window),
	}
	switch h {
	case abi.HookEvents:
		q.events = happenings(n)
	case abi.HookSpeculate:
		q.rows = traffic(n, abi.PhaseRunning)
	default:
		q.rows = traffic(n, abi.PhaseQueued)
	}
	return q
}

func (q *question) calls() int {
	n := max(len(q.rows), len(q.events))
	return max((n+abi.MaxRows-1)/abi.MaxRows, 1)
}

// ask asks about all rows, a window at a time.
func (q *question) ask(d abi.Decider) { q.each(d, nil) }

func (q *question) each(d abi.Decider, after func()) {
	for i := range q.calls() {
		from := i * abi.MaxRows
		q.window(d, from)
		if after != nil {
			after()
		}
	}
}

func (q *question) window(d abi.Decider, from int) {
	rows := q.rows[min(from, len(q.rows)):min(from+abi.MaxRows, len(q.rows))]
	n := len(rows)
	switch q.hook {
	case abi.HookAdmit:
		d.Admit(&q.state, rows, q.verdicts[:n], q.by[:n])
	case abi.HookPrioritize:
		d.Prioritize(&q.state, rows, q.rankings[:n])
	case abi.HookBatchCap:
		d.BatchPlan(&q.state, &q.batch)
	case abi.HookSpeculate:
		d.Speculate(&q.state, rows, &q.spec, q.k[:n])
	case abi.HookEvents:
		d.Events(&q.state, q.events[from:min(from+abi.MaxRows, len(q.events))])
	}
}

// batches is the least number of batches that a median is of.
const batches = 31

// timed gives the median time of a call, in ns, and how often it allocates in the mean.
func timed(d time.Duration, call func()) (ns int64, allocs float64) {
	call() // what is made at the first call is not of interest
	start := time.Now()
	call()
	n := max(int(d/batches/max(time.Since(start), 1)), 1)
	took := make([]int64, 0, 1<<12)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for end := time.Now().Add(d); len(took) < cap(took) && (len(took) < batches || time.Now().Before(end)); {
		start := time.Now()
		for range n {
			call()
		}
		took = append(took, int64(time.Since(start))/int64(n))
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	allocs = float64(after.Mallocs-before.Mallocs) / float64(len(took)*n)
	return took[len(took)/2], math.Floor(allocs*10) / 10 // others on this process allocate a little
}
