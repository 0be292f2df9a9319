package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// busy is a Core in which 64 requests produce tokens after prompts that have 2,000 tokens in common, with hashes of their own
// for what they write.
type busy struct {
	core    *sched.Core
	now     int64
	results []sched.Result
	next    uint64     // hash
	hashes  [72]uint64 // by row
	prefix  []uint64
}

func newBusy(t testing.TB) *busy {
	t.Helper()
	cfg := sched.DefaultConfig(72, 2048, 32_768, 400_000)
	cfg.CopyMin, cfg.SpareSeqs, cfg.SharedKV = 32, 64, true
	cfg.MaxSaved, cfg.Costs = 1<<20, gpu.Costs{PrefillToken: 10, SaveToken: 1}
	core, err := sched.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &busy{core: core, now: 1e6, next: 1 << 32, prefix: make([]uint64, 125)}
	for i := range b.prefix {
		b.prefix[i] = uint64(i + 1)
	}
	for id := range uint64(64) {
		b.arrive(id + 1)
	}
	for range 600 {
		b.step(t)
	}
	return b
}

func (b *busy) arrive(id uint64) *sched.Request {
	r := &sched.Request{ID: id, PromptTokens: 2010, MaxTokens: 30_000, Arrival: b.now, Hashes: b.prefix}
	b.core.Arrive(b.now, r)
	return r
}

func (b *busy) step(t testing.TB) {
	b.now += 10e6
	batch := b.core.Plan(b.now)
	if batch == nil {
		t.Fatal("nothing runs")
	}
	b.results = b.results[:0]
	for i := range batch.Rows {
		row, res := &batch.Rows[i], sched.Result{}
		if row.Sample {
			res.Emitted = 1
			if (row.Start+row.Tokens+1)%16 == 0 {
				b.next++
				b.hashes[i] = b.next
				res.Hashes = b.hashes[i : i+1]
			}
		}
		b.results = append(b.results, res)
	}
	b.core.Complete(b.now, b.results)
}

// Blocks fill and become part of the tree all the time; only the tree's own growth allocates, in lots.
func TestAStepWithNothingToEvictHardlyAllocates(t *testing.T) {
	b := newBusy(t)
	if err := b.core.Check(); err != nil {
		t.Fatal(err)
	}
	const steps = 160
	per := testing.AllocsPerRun(1, func() {
		for range steps {
			b.step(t)
		}
	}) / steps
	// 64 requests fill 4 blocks a step; nodes come in lots of 64, and slices and the map double now and then.
	if per > 2 {
		t.Errorf("%.2f allocations a step", per)
	}
	if st := b.core.Stats(); st.EvictedBlocks != 0 || b.core.Running() != 64 {
		t.Errorf("%d blocks were evicted, %d run", st.EvictedBlocks, b.core.Running())
	}
}

// A request enters with a prefix of 2,000 tokens, is computed once, and is cancelled: ns/op is all of that, with 64 others
// standing by that hold the prefix too.
func BenchmarkEnterWithAPrefixOf2000Tokens(b *testing.B) {
	x := newBusy(b)
	id := uint64(1000)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		id++
		r := x.arrive(id)
		b.StartTimer()
		batch := x.core.Plan(x.now)
		b.StopTimer()
		if r.Cached != 2000 {
			b.Fatalf("%d tokens were cached", r.Cached)
		}
		x.results = x.results[:0]
		for i := range batch.Rows {
			res := sched.Result{Emitted: 1}
			if !batch.Rows[i].Sample {
				res.Emitted = 0
			}
			x.results = append(x.results, res)
		}
		x.core.Complete(x.now, x.results)
		x.core.Cancel(x.now, id, sched.OutcomeCancelledRunning)
		x.core.TakeEnded()
		b.StartTimer()
	}
}

// A step of 64 requests that produce tokens: ns/op is the scheduler's part of it.
func BenchmarkStepOf64Requests(b *testing.B) {
	const most = 4000 // then the KV would run out
	x, steps := newBusy(b), 0
	b.ReportAllocs()
	for b.Loop() {
		if steps++; steps%most == 0 {
			b.StopTimer()
			x = newBusy(b)
			b.StartTimer()
		}
		x.step(b)
	}
}

// A step in which a prompt is computed that a thousand others wait for: ns/op is the scheduler's part of it.
func BenchmarkStepWithAThousandBehindOnePrompt(b *testing.B) {
	cfg := sched.DefaultConfig(72, 2048, 1<<20, 1<<20)
	cfg.CopyMin, cfg.SpareSeqs, cfg.SharedKV, cfg.MaxWaiting = 32, 64, true, 2000
	cfg.MaxWaitingTokens = 1 << 31
	core, err := sched.New(cfg, answers{batch: func(*abi.State) abi.BatchPlan { return abi.BatchPlan{PrefillBudgetTokens: 2, ChunkTokens: 1} }})
	if err != nil {
		b.Fatal(err)
	}
	x := &busy{core: core, now: 1e6, next: 1 << 32, prefix: make([]uint64, 1<<16-1)}
	for i := range x.prefix {
		x.prefix[i] = uint64(i + 1)
	}
	for id := range uint64(1000) {
		core.Arrive(x.now, &sched.Request{ID: id + 1, PromptTokens: 1<<20 - 10, MaxTokens: 1, Arrival: x.now, Hashes: x.prefix})
	}
	b.ReportAllocs()
	for b.Loop() {
		x.step(b)
	}
	if n := core.State(x.now).WaitingDeferred; n != 999 {
		b.Errorf("%d wait for the prompt, want 999", n)
	}
}
