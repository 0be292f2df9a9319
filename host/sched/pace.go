package sched

import (
	"math/bits"
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// pace predicts how long a step takes: the time of its decoding rows, plus so much for each prompt token. It starts from what was
// measured before, if anything was, and learns from each step. Its state follows from those alone.
type pace struct {
	decode  [len(gpu.Costs{}.Step)]duration // of steps without prompt tokens, by bucket of decoding rows
	price   price
	prefill rate
	most    int  // prompt tokens of the largest step so far
	given   bool // the rate was measured before, so that it need not be found step by step
}

func newPace(costs *gpu.Costs) (p pace) {
	for i := range p.decode {
		p.decode[i].mean = costs.Step[i][0]
	}
	p.price = newPrice(costs)
	if costs.PrefillToken > 0 {
		p.prefill.add(costs.PrefillToken*givenTokens, givenTokens*unit)
		p.given = true
	}
	return p
}

// givenTokens is the weight of a measured rate, in prompt tokens: one large step outweighs it.
const givenTokens = 256

// bucketOf is the place in gpu.Costs.Step of a step with n >= 1 rows.
func bucketOf(n int) int { return min(bits.Len(uint(n-1)), len(gpu.Costs{}.Step)-1) }

// learn takes in a step that took ns for its decoding rows and its prompt tokens, which were so much work.
func (p *pace) learn(decoding, prompt int, work, ns int64) {
	ns = min(ns, longest)
	switch {
	case ns <= 0:
	case prompt == 0:
		if decoding > 0 {
			p.decode[bucketOf(decoding)].add(ns)
		}
	default:
		rows := p.decoding(decoding)
		if decoding == 0 {
			rows = min(p.decoding(1), ns/2) // what any step takes
		}
		p.most = max(p.most, prompt)
		p.prefill.add(max(0, ns-rows), work)
	}
}

// decoding is the time of a step of so many decoding rows: that of their bucket, or of the nearest one known; 0 = none is.
func (p *pace) decoding(rows int) int64 {
	if rows == 0 {
		return 0
	}
	at := bucketOf(rows)
	for i := at; i < len(p.decode); i++ {
		if p.decode[i].mean > 0 {
			return p.decode[i].mean
		}
	}
	for i := at - 1; i >= 0; i-- {
		if p.decode[i].mean > 0 {
			return p.decode[i].mean
		}
	}
	return 0
}

// firstChunk is the prompt tokens of a step beside decoding rows while nothing is known of their cost.
const firstChunk = 128

// room is how much work on prompts fits into a step of ns beside so many decoding rows, and how many tokens it may be at most: twice
// what has been tried, since cost does not grow in a line for ever. ok is false while nothing is known.
func (p *pace) room(decoding int, ns int64) (work int64, most int, ok bool) {
	total, of := p.prefill.cost, p.prefill.work
	if of == 0 {
		return 0, 0, false
	}
	most = maxTokens
	if !p.given {
		most = max(2*p.most, firstChunk)
	}
	switch left := min(ns, longest) - p.decoding(decoding); {
	case left <= 0:
		return 0, most, true
	case total == 0:
		return maxWork, most, true
	default:
		return min(scaled(left, of, total), maxWork), most, true
	}
}

// prompt is the time of a prompt of so many tokens beside what any step takes, longest at most; 0 = nothing is known of their cost.
func (p *pace) prompt(tokens int) int64 {
	if p.prefill.work == 0 {
		return 0
	}
	return min(scaled(work(0, tokens, p.price.slope(tokens)), p.prefill.cost, p.prefill.work), longest)
}

// Bounds of what is computed with: more tokens, and more time, than any step has.
const (
	maxTokens = 1 << 20
	longest   = 100 * second
)

// duration is a mean over the last steps or so, deaf to a single one that stands out.
type duration struct {
	mean int64 // 0 = unknown
	seen recent
}

func (d *duration) add(ns int64) {
	d.seen.push(sample{ns, 1})
	if d.mean == 0 {
		d.mean = ns
		return
	}
	d.mean += (d.seen.middle().cost - d.mean) / 8
}

// rate is cost by work over the last steps or so, deaf to a single one that stands out. Both sums fade.
type rate struct {
	cost, work int64
	seen       recent
}

func (r *rate) add(cost, work int64) {
	r.seen.push(sample{cost, work})
	s := r.seen.middle()
	r.cost += s.cost<<fine - r.cost/8
	r.work += s.work<<fine - r.work/8
}

// fine is the binary places that a rate's sums have, so that small steps fade too.
const fine = 4

type sample struct{ cost, work int64 }

// recent is the last three samples.
type recent struct {
	last [3]sample
	n    int
}

func (r *recent) push(s sample) {
	r.last[r.n%len(r.last)] = s
	r.n++
}

// middle is the one of middle cost by work; while there are fewer than three, the newest.
func (r *recent) middle() sample {
	if r.n < len(r.last) {
		return r.last[r.n-1]
	}
	by := r.last
	slices.SortFunc(by[:], sample.cheaper)
	return by[1]
}
