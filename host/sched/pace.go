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

// headroom is the share of the target that a step is planned for, in percent: no prediction is exact.
const headroom = 90

// idleTarget is how many targets long a step may be in which nothing decodes, so that arrivals and cancellations do not wait for
// longer: large enough to compute prompts at the device's best rate.
const idleTarget = 4

// budget is how much the step may hold of prompts beside the rows that are in it, which decode: as many tokens as a policy says, else as
// much as keeps the step's predicted time below the smallest TPOT objective among the classes concerned, longer where somebody's first
// token is late, and something always, so that both sides go on.
func (c *Core) budget(f *filling) share {
	decoding, hard := len(c.batch.Rows), c.cfg.MaxBatchTokens
	if f.lim.budgeted {
		return share{min(f.lim.prefill, f.tokens), maxWork}
	}
	target, guess := c.target(decoding), firstChunk
	if decoding > 0 {
		hard, target = c.cfg.ChunkTokens, c.stretch(f, target, decoding)
	} else {
		target, guess = target*idleTarget, guess*idleTarget
	}
	hard = min(hard, f.tokens)
	if target <= 0 {
		return share{hard, maxWork}
	}
	fits, most, known := c.pace.room(decoding, target/100*headroom)
	if !known {
		fits, most = int64(guess)*unit, guess
	}
	most = max(most, c.cfg.BlockSize)
	if f.lim.chunked {
		most = max(most, f.lim.chunk)
	}
	hard = min(hard, most)
	return share{hard, c.enough(f, fits, decoding, hard)}
}

// enough is the work on prompts in a step where so much fits: what a KV block costs at the beginning of its sequence, at least; the chunk
// that a policy names; and where nothing decodes, as many rows as the device needs for its better price. It says at which price the
// step's prompts are computed.
func (c *Core) enough(f *filling, fits int64, decoding, most int) int64 {
	p := &c.pace.price
	start, left := c.promptsLeft(f)
	if more := p.wide - decoding; more > 0 && more <= min(left, most) {
		if need := work(start, more, p.farWide); fits >= need || decoding == 0 {
			f.slope = p.farWide
			return max(fits, need)
		}
	}
	f.slope = p.slope(decoding)
	fits = max(fits, int64(c.cfg.BlockSize)*unit)
	if f.lim.chunked {
		fits = max(fits, work(start, f.lim.chunk, f.slope))
	}
	return fits
}

// promptsLeft is where the oldest prompt among the running stands, and how many tokens of prompts could be in the step: what runs and
// the next that enters.
func (c *Core) promptsLeft(f *filling) (start, left int) {
	for _, r := range c.running {
		if n := r.known() - r.Computed; n > 1 {
			if left == 0 {
				start = r.Computed
			}
			left += n
		}
	}
	if r := c.head(f); c.mayEnter(f, r, nil) {
		left += r.known() - r.core.inCache
	}
	return start, left
}

// target is the smallest TPOT objective of the classes that decode in the step, or else of those that run or wait; 0 = none has one.
func (c *Core) target(decoding int) (ns int64) {
	add := func(class uint8) {
		if v := c.cfg.SLO[class].TPOTNS; v > 0 && (ns == 0 || v < ns) {
			ns = v
		}
	}
	for i := range decoding {
		add(c.batch.Rows[i].Req.Class)
	}
	if decoding > 0 {
		return ns
	}
	for _, r := range c.running {
		add(r.Class)
	}
	for class := range c.lines {
		if c.lines[class].n > 0 {
			add(uint8(class))
		}
	}
	return ns
}

// mostStretch is how long a step may become at most for the sake of first tokens that are late, in percent of the target: as long as
// the shipped tpot-cap leaves alone, which would otherwise cut the batch for it.
const mostStretch = 150

// stretch lengthens the target of a step as far as the latest first token is behind its time: a tenth later, a tenth longer. A target
// that is held whatever waits gives prompts a fixed share of the device, and where more come than that, their TTFT grows without end
// while gaps have room. The longest gap that the classes that decode allow bounds it, by half: no prediction is exact.
func (c *Core) stretch(f *filling, target int64, decoding int) int64 {
	percent := int64(100)
	for _, r := range c.running {
		percent = max(percent, c.lateness(f.now, r))
	}
	if next := c.head(f); c.mayEnter(f, next, nil) {
		percent = max(percent, c.lateness(f.now, next))
	}
	stretched := target / 100 * min(percent, mostStretch)
	for i := range decoding {
		if gap := c.cfg.SLO[c.batch.Rows[i].Req.Class].MaxGapNS; gap > 0 {
			stretched = min(stretched, gap/2)
		}
	}
	return max(target, stretched)
}

// lateness is how long r has waited for its first token, in percent of what is due; 0 = it has it, or has no objective.
func (c *Core) lateness(now int64, r *Request) int64 {
	due := c.due(r)
	if r.FirstToken != 0 || due <= 0 {
		return 0
	}
	return min(max(0, now-r.Arrival), 2*due) * 100 / due
}

// due is how long after its arrival a request's first token is late: after its class's TTFT objective, and twice the time that the
// device takes for the prompt alone. 0 = never, the class has no objective.
func (c *Core) due(r *Request) int64 {
	ttft := min(c.cfg.SLO[r.Class].TTFTNS, longest)
	if ttft <= 0 {
		return 0
	}
	return min(ttft+2*c.pace.prompt(r.PromptTokens), longest)
}
