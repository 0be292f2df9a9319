package sched

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
	next, target, guess := c.next(f), c.target(decoding), firstChunk
	if decoding > 0 {
		hard, target = c.cfg.ChunkTokens, c.stretch(f.now, next, target, decoding)
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
	return share{hard, c.enough(f, next, fits, decoding, hard)}
}

// enough is the work on prompts in a step where so much fits: what a KV block costs at the beginning of its sequence, at least; the chunk
// that a policy names; and where nothing decodes, as many rows as the device needs for a price that is half of the other one or less.
// It says at which price the step's prompts are computed.
func (c *Core) enough(f *filling, next *Request, fits int64, decoding, most int) int64 {
	p := &c.pace.price
	start, left := c.promptsLeft(next)
	f.slope = p.slope(decoding)
	if more := p.wide - decoding; more > 0 && more <= min(left, most) {
		need := work(start, more, p.farWide)
		if fits >= need || decoding == 0 && 2*token(start, p.farWide) <= token(start, p.far) {
			f.slope, fits = p.farWide, max(fits, need)
		}
	}
	fits = max(fits, int64(c.cfg.BlockSize)*unit)
	if f.lim.chunked {
		fits = max(fits, work(start, f.lim.chunk, f.slope))
	}
	return fits
}

// promptsLeft is where the oldest prompt stands, among the running or else the next that enters, and how many tokens of prompts could be
// in the step: what runs and that one.
func (c *Core) promptsLeft(next *Request) (start, left int) {
	for _, r := range c.running {
		if n := r.known() - r.Computed; n > 1 {
			if left == 0 {
				start = r.Computed
			}
			left += n
		}
	}
	if next != nil {
		if left == 0 {
			start = next.core.inCache
		}
		left += next.known() - next.core.inCache
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
func (c *Core) stretch(now int64, next *Request, target int64, decoding int) int64 {
	percent := int64(100)
	for _, r := range c.running {
		percent = max(percent, c.lateness(now, r))
	}
	if next != nil {
		percent = max(percent, c.lateness(now, next))
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
