package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/gpu"
)

// Options of Run. The zero value measures for DefaultLimit.
type Options struct {
	Limit   time.Duration // when to stop taking samples; 0 = DefaultLimit. What has begun is finished
	Drafter gpu.Drafter   // the one beside the device; nil = none
	Plain   bool          // only prompts at their beginning, and steps without drafts

	now func() time.Time // a test's clock
}

// DefaultLimit is Options.Limit where none is given: the default model's whole table on two cores, about twice over.
const DefaultLimit = 5 * time.Second

const (
	contextTokens = 16  // what a sequence holds before its step
	mostPrompt    = 256 // tokens of the longest prompt that is measured
	samples       = 5   // of one step, when there is time
)

// drafts are the numbers of drafts that are measured, the most telling first. Kernels work in blocks of rows, so that the steps
// between are not on a line through 0 and 15.
var drafts = []int{0, 1, 3, 7, 15, 2, 5, 11}

// run is one measurement.
type run struct {
	ctx   context.Context
	dev   gpu.Device
	info  gpu.Info
	opt   Options
	until time.Time
	began time.Time
	held  []int
	times [Buckets][Drafts][]int64
	wide  []float64 // of what was repeated, the middle time as a factor of the fastest
	rep   Report
}

// Run measures dev, which must hold nothing, and leaves it so. It takes every step once, few sequences first, and then as often
// as the limit allows, up to five times; each entry is the median. What the limit does not allow is 0 in the report. An error is the
// device's own, or ctx's.
func Run(ctx context.Context, dev gpu.Device, o Options) (Report, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.now == nil {
		o.now = time.Now
	}
	defer context.AfterFunc(ctx, dev.Abort)()
	r := &run{ctx: ctx, dev: dev, info: dev.Info(), opt: o, began: o.now()}
	r.until = r.began.Add(o.Limit)
	r.held = make([]int, r.info.MaxSeqs+r.info.SpareSeqs)
	err := r.all()
	if err = errors.Join(err, r.clear()); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return Report{}, fmt.Errorf("measure step times: %w", err)
	}
	r.rep.TookNS = int64(o.now().Sub(r.began))
	return r.rep, nil
}

func (r *run) all() error {
	if err := r.warmUp(); err != nil {
		return err
	}
	for _, part := range []func() error{r.prefill, r.far, r.moves, r.holding, r.drafting, r.steps} {
		if err := part(); err != nil {
			return err
		}
	}
	for b := range r.times {
		for k, t := range r.times[b] {
			r.rep.Costs.Step[b][k], r.rep.Samples[b][k] = r.middle(t), len(t)
			if len(t) > 0 {
				r.rep.Largest = min(1<<b, r.info.MaxSeqs)
			}
		}
		interpolate(&r.rep.Costs.Step[b])
	}
	r.rep.Spread = r.spread()
	return nil
}

// warmUp has kernels built and buffers grown before anything counts.
func (r *run) warmUp() error {
	for range 2 {
		if _, err := r.forward(1, 1, 0); err != nil {
			return err
		}
	}
	return r.clear()
}

func (r *run) late() bool { return !r.opt.now().Before(r.until) }

// forward computes rows tokens more on each of the first seqs sequences, logits of the last kept of them, and gives the time.
func (r *run) forward(seqs, rows, kept int) (int64, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	b := &gpu.Batch{}
	take := make([]int, seqs)
	for s := range seqs {
		b.Items = append(b.Items, gpu.Item{Seq: s, Pos: r.held[s], Tokens: r.text(s, r.held[s], rows), Logits: kept})
		take[s] = rows
	}
	start := r.opt.now()
	if err := r.dev.Forward(b); err != nil {
		return 0, err
	}
	ns := int64(r.opt.now().Sub(start))
	for s := range seqs {
		r.held[s] += rows
	}
	if r.opt.Drafter != nil {
		if err := r.opt.Drafter.Observe(b, take); err != nil {
			return 0, err
		}
	}
	return max(ns, 1), nil
}

// text gives tokens that are all over the vocabulary: a step's time does not depend on them, but for the experts of some models.
func (r *run) text(seq, pos, n int) []gpu.Token {
	out := make([]gpu.Token, n)
	for i := range out {
		x := uint64(seq+1)*0x9e3779b97f4a7c15 + uint64(pos+i)*0xbf58476d1ce4e5b9
		out[i] = gpu.Token((x >> 33) % uint64(r.info.VocabSize))
	}
	return out
}

func (r *run) trim(seqs, pos int) error {
	for s := range seqs {
		if r.held[s] <= pos {
			continue
		}
		if err := r.dev.Trim(s, pos); err != nil {
			return err
		}
		r.held[s] = pos
	}
	return nil
}

func (r *run) clear() error { return r.trim(len(r.held), 0) }

// prefill compares prompts of growing length with a step of one row, and the longest one that leaves time for more three times.
func (r *run) prefill() error {
	most := min(mostPrompt, r.info.MaxBatchTokens, r.info.ContextTokens-1, r.info.KVTokens-1)
	var long, short []int64
	for n := 2; n <= most; {
		l, s, err := r.prompt(n)
		if err != nil {
			return err
		}
		long, short = append(long, l), append(short, s)
		r.rep.Costs.PrefillToken = max(0, (r.middle(long)-r.middle(short))/int64(n-1))
		longest := n == most || l*40 > int64(r.opt.Limit) // three of twice the length would take a sixth of it
		switch {
		case r.late() || longest && len(long) == 3:
			return nil
		case !longest:
			n, long, short = min(2*n, most), nil, nil
		}
	}
	return nil
}

// prompt gives the times of a prompt of n tokens, and of a step with one row after it.
func (r *run) prompt(n int) (long, short int64, err error) {
	if long, err = r.forward(1, n, 1); err != nil {
		return 0, 0, err
	}
	if short, err = r.forward(1, 1, 1); err != nil {
		return 0, 0, err
	}
	return long, short, r.clear()
}

// steps fills the table: everything once, then again while there is time.
func (r *run) steps() error {
	for round := range samples {
		for b := range Buckets {
			if b > 0 && 1<<(b-1) >= r.info.MaxSeqs {
				break
			}
			for _, k := range drafts {
				if r.opt.Plain && k > 0 {
					break
				}
				if r.late() && r.times[0][0] != nil { // without that one the report would be of no use
					return nil
				}
				if err := r.step(b, k, round == 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// step measures one step of the table, if it fits the device. The first one of its kind is not counted where it may have been
// the one that had buffers grow.
func (r *run) step(bucket, k int, first bool) error {
	seqs, rows := min(1<<bucket, r.info.MaxSeqs), k+1
	base := min(contextTokens, r.info.MaxBatchTokens/seqs)
	if seqs*rows > r.info.MaxBatchTokens || base+rows > r.info.ContextTokens || seqs*(base+rows) > r.info.KVTokens {
		return nil
	}
	if err := r.fill(seqs, base); err != nil {
		return err
	}
	warm := first && k == 0
	for again := true; again; warm = false {
		again = warm
		ns, err := r.forward(seqs, rows, rows)
		switch {
		case errors.Is(err, gpu.ErrMemory): // it does not fit after all
			return r.trim(seqs, base)
		case err != nil:
			return err
		case !warm:
			r.times[bucket][k] = append(r.times[bucket][k], ns)
		}
		if err := r.trim(seqs, base); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the first seqs sequences hold base tokens, and the others none.
func (r *run) fill(seqs, base int) error {
	for s, n := range r.held {
		if want := base; n != 0 && (s >= seqs || n != want) {
			if err := r.dev.Trim(s, 0); err != nil {
				return err
			}
			r.held[s] = 0
		}
	}
	b := &gpu.Batch{}
	var kept []int
	for s := range seqs {
		if r.held[s] == 0 {
			b.Items = append(b.Items, gpu.Item{Seq: s, Tokens: r.text(s, 0, base)})
			kept = append(kept, base)
			r.held[s] = base
		}
	}
	if len(b.Items) == 0 {
		return nil
	}
	if err := r.dev.Forward(b); err != nil {
		return err
	}
	if r.opt.Drafter != nil {
		return r.opt.Drafter.Observe(b, kept)
	}
	return nil
}

// middle is the median of times that should be alike, and takes note of how much they are.
func (r *run) middle(times []int64) int64 {
	m := median(times)
	if len(times) > 1 {
		r.wide = append(r.wide, float64(m)/float64(slices.Min(times)))
	}
	return m
}

// spread gives Report.Spread.
func (r *run) spread() float64 {
	if len(r.wide) == 0 {
		return 0
	}
	slices.Sort(r.wide)
	return r.wide[len(r.wide)/2]
}

// median of an even number is the smaller one of the middle: what disturbs a step makes it longer.
func median(x []int64) int64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	return x[(len(x)-1)/2]
}
