package sched_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// paced drives a Core on a device whose steps take time: base, and so much for each token. It ticks every 10 ms of that time, also
// while a step is computed, as the engine does.
type paced struct {
	*sched.Core
	t           *testing.T
	base, token int64
	far         [2]int64 // ns that a token takes for each one before it, in a step of less than wide tokens and of more
	wide        int
	now         int64
	arrivals    []*sched.Request // by arrival
	took        []int64          // of each step
	mixed       []int64          // of each step with prompt tokens beside decoding rows
	prompt      []int            // prompt tokens of each of those
	onTick      func(now int64)
}

func pace(t *testing.T, cfg sched.Config, p abi.Decider, base, token int64) *paced {
	t.Helper()
	core, err := sched.New(cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return &paced{Core: core, t: t, base: base, token: token, now: 1e6}
}

// add has a request arrive at a moment.
func (d *paced) add(at int64, r *sched.Request) *sched.Request {
	r.Arrival = at
	d.arrivals = append(d.arrivals, r)
	return r
}

// run goes on until nothing is left, or until a moment.
func (d *paced) run(until int64) {
	d.t.Helper()
	slices.SortStableFunc(d.arrivals, func(a, b *sched.Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	for d.now < until && (len(d.arrivals) > 0 || !d.Idle()) {
		b := d.Plan(d.now)
		if b == nil {
			d.pass(d.now + 10e6)
			continue
		}
		ns := d.note(b)
		d.pass(d.now + ns)
		res := make([]sched.Result, len(b.Rows))
		for i := range b.Rows {
			if b.Rows[i].Sample {
				res[i].Emitted = 1
			}
		}
		d.Complete(d.now, res)
		d.TakeEnded()
		if err := d.Check(); err != nil {
			d.t.Fatal(err)
		}
	}
}

// note computes what a step takes.
func (d *paced) note(b *sched.Batch) int64 {
	decoding, prompt, before := 0, 0, 0
	for i := range b.Rows {
		if r := &b.Rows[i]; r.Sample && r.Req.Generated > 0 && r.Tokens == 1 {
			decoding++
		} else {
			prompt += r.Tokens
			before += r.Tokens * (r.Start + r.Tokens/2)
		}
	}
	far := d.far[0]
	if d.wide > 0 && b.Tokens >= d.wide {
		far = d.far[1]
	}
	ns := d.base + d.token*int64(prompt+decoding) + far*int64(before)
	d.took = append(d.took, ns)
	if decoding > 0 && prompt > 0 {
		d.mixed, d.prompt = append(d.mixed, ns), append(d.prompt, prompt)
	}
	return ns
}

// pass lets time pass: requests arrive, and the queue is looked through.
func (d *paced) pass(to int64) {
	for d.now < to {
		next := min(d.now/10e6*10e6+10e6, to)
		for len(d.arrivals) > 0 && d.arrivals[0].Arrival <= next {
			r := d.arrivals[0]
			d.arrivals = d.arrivals[1:]
			d.Arrive(r.Arrival, r)
		}
		d.now = next
		d.Tick(d.now)
		if d.onTick != nil {
			d.onTick(d.now)
		}
	}
}

// p99 is the nearest rank.
func p99(v []int64) int64 {
	slices.Sort(v)
	return v[(len(v)*99+99)/100-1]
}

// Two conversations push each other off the device: the time in which their KV comes and goes is not taken for that of their prompts.
func TestTheTimeOfSavesAndRestoresIsNotThatOfPrompts(t *testing.T) {
	cfg := sched.DefaultConfig(2, 4096, 8192, 300*16)
	cfg.MaxSaved, cfg.Costs = 1<<20, gpu.Costs{PrefillToken: 100e3, SaveToken: 10e3}
	cfg.Costs.Step[0][0] = 5e6
	d := drive(t, cfg, nil)
	var texts [2][]uint64
	for i := range texts {
		for b := range uint64(250) {
			texts[i] = append(texts[i], uint64(i+1)<<32|b)
		}
	}
	step := func() *sched.Batch {
		b := d.Plan(d.now)
		d.now += 5e6
		res := make([]sched.Result, len(b.Rows))
		for i, row := range b.Rows {
			d.now += int64(row.Tokens) * 100e3
			if row.Sample {
				res[i].Emitted = 1
			}
		}
		for _, op := range b.Ops {
			if op.Kind == sched.OpSave || op.Kind == sched.OpRestore {
				d.now += int64(op.Tokens) * 5e3
			}
		}
		d.Complete(d.now, res)
		return b
	}
	for id := range uint64(20) {
		r := &sched.Request{ID: id + 1, PromptTokens: 4016, MaxTokens: 1, Hashes: texts[id%2]}
		for d.arrive(r); r.Outcome == sched.OutcomeNone; {
			step()
		}
		if id > 3 && r.Cached != 4000 {
			t.Fatalf("request %d found %d tokens", r.ID, r.Cached)
		}
	}
	d.arrive(&sched.Request{ID: 100, PromptTokens: 1, MaxTokens: 50})
	step()
	d.arrive(&sched.Request{ID: 101, PromptTokens: 3000, MaxTokens: 1})
	b := step() // 45 ms: 5 for the decoding row, 0.1 for each token
	if n := len(b.Rows); n != 2 || b.Rows[1].Tokens < 300 || b.Rows[1].Tokens > 500 {
		t.Errorf("rows %+v, want about 400 prompt tokens in the second", b.Rows)
	}
}
