package sched_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// paced drives a Core on a device whose steps take time: base, and so much for each token. It ticks every 10 ms of that time, also
// while a step is computed, as the engine does.
type paced struct {
	*sched.Core
	t           *testing.T
	base, token int64
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
	decoding, prompt := 0, 0
	for i := range b.Rows {
		if r := &b.Rows[i]; r.Sample && r.Req.Generated > 0 && r.Tokens == 1 {
			decoding++
		} else {
			prompt += r.Tokens
		}
	}
	ns := d.base + d.token*int64(prompt+decoding)
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
