package goodput

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// When to begin, to end and to look again.
const (
	begin    = 1.05 // gain from which speculation starts; it ends at a gain of 1
	refresh  = 128  // steps with drafts in a row after which one goes without: the plain step is what all is compared with
	unlikely = 0.02 // a draft below this probability is never worth its place

	promising         = 0.2 // share of accepted first drafts above which a new request is tried at once
	firstPause        = 8   // steps with drafts on offer before a new request is tried, where drafts are mostly rejected
	leastGap, mostGap = 32, 512
)

// Row is one request that a step decodes.
type Row struct {
	Of    *History
	Most  int // drafts that it may verify: what is on offer, under all limits; 0 = none
	Draft int // set by Plan
}

// Controller decides for one device. It is used from one goroutine.
type Controller struct {
	costs    costs
	accepted acceptance
	on       bool
	streak   int     // steps with drafts since the last without
	price    float64 // of one draft at the last Plan, in tokens of its row, at least 1

	guesses []guess // scratch
}

// guess is one draft that could be verified.
type guess struct {
	row, at int
	chance  float64 // that it and all before it are accepted
}

// New returns a controller that knows what was measured. With nothing measured it learns from the steps that it is told of.
func New(c gpu.Costs) *Controller { return &Controller{costs: newCosts(c)} }

// Known reports whether the time of a step of so many rows is known, without which nothing is drafted.
func (c *Controller) Known(rows int) bool { return c.costs.plainNS(rows) > 0 }

// CellNS is the time of a step without drafting, at a place in gpu.Costs.Step, as it is believed now; 0 = not known.
func (c *Controller) CellNS(bucket, drafts int) int64 {
	return int64(c.costs.plain[bucket] * c.costs.times[bucket][drafts])
}

// Plan sets the drafts of each row, at most slots together: those with which most tokens are emitted a second, or none where
// speculation does not pay, but for a single draft now and then of a row that has been without.
func (c *Controller) Plan(rows []Row, slots int) {
	for i := range rows {
		rows[i].Draft = 0
	}
	if len(rows) == 0 || !c.Known(len(rows)) {
		return
	}
	c.guess(rows)
	if len(c.guesses) == 0 {
		return
	}
	if c.streak >= refresh {
		c.streak = 0
		return
	}
	plain := c.costs.ns(len(rows), 0) / float64(len(rows))
	c.price = max(1, (c.costs.ns(len(rows), 1)-c.costs.ns(len(rows), 0))/plain)
	n, gain := c.best(len(rows), slots)
	if gain <= 1 || !c.on && gain < begin {
		n = 0
	}
	c.on = n > 0
	for _, g := range c.guesses[:n] {
		rows[g.row].Draft = g.at + 1
	}
	c.try(rows, slots-n)
}

// guess lists the drafts that could be verified, the most probable first. Those of one row fall in probability, so the first n of
// the list are the beginnings of drafts.
func (c *Controller) guess(rows []Row) {
	c.guesses = c.guesses[:0]
	var common [MaxDraft]float64
	c.accepted.common(&common)
	for i := range rows {
		chance := 1.0
		for at := range min(rows[i].Most, MaxDraft) {
			chance *= rows[i].Of.own.mean(common[at], commonWeight)
			if chance < unlikely && at > 0 {
				break
			}
			c.guesses = append(c.guesses, guess{i, at, chance})
		}
	}
	slices.SortFunc(c.guesses, func(a, b guess) int {
		return cmp.Or(cmp.Compare(b.chance, a.chance), cmp.Compare(a.row, b.row), cmp.Compare(a.at, b.at))
	})
}

// best is the number of guesses with which a step of so many rows emits most tokens a second, and how many times as many as without.
func (c *Controller) best(rows, slots int) (n int, gain float64) {
	plain := c.costs.ns(rows, 0) / float64(rows)
	gain = 1
	tokens := float64(rows)
	for i := range c.guesses[:min(len(c.guesses), max(slots, 0))] {
		tokens += c.guesses[i].chance
		if g := tokens / c.costs.ns(rows, i+1) * plain; g > gain {
			n, gain = i+1, g
		}
	}
	return n, gain
}

// try gives one draft to each row that has been without for its pause. A row is tried at its own pace, by what a trial costs, so what is
// lost to trials is the same share of a step for any number of rows and any drafter.
func (c *Controller) try(rows []Row, slots int) {
	for i := range rows {
		h := rows[i].Of
		if rows[i].Most == 0 || rows[i].Draft > 0 {
			continue
		}
		if !h.begun {
			c.beginTrials(h)
		}
		if h.pause > 0 {
			h.pause--
		} else if slots > 0 {
			rows[i].Draft = 1
			slots--
		}
	}
}

func (c *Controller) beginTrials(h *History) {
	h.begun, h.gap, h.pause = true, leastGap, int(firstPause*c.price)
	if c.accepted.at[0].mean(firstGuess, guessWeight) >= promising {
		h.pause = 0
	}
}

// Verified takes in that the first accepted of a row's drafted drafts held. Rows that ended must be left out: a stop cuts their
// acceptance short.
func (c *Controller) Verified(h *History, drafted, accepted int) {
	if drafted == 0 {
		return
	}
	c.accepted.learn(h, drafted, accepted)
	if accepted > 0 {
		h.pause, h.gap = 0, leastGap
		return
	}
	h.gap = max(h.gap, leastGap)
	h.pause, h.gap = int(float64(h.gap)*max(c.price, 1)), min(2*h.gap, mostGap)
	h.begun = true
}

// Took takes in the time of a step that computed nothing but one token of each of its rows, and drafts in all.
func (c *Controller) Took(rows, drafts int, ns int64) {
	if rows == 0 || ns <= 0 {
		return
	}
	c.streak++
	if drafts == 0 {
		c.streak = 0
	}
	c.costs.learn(rows, drafts, float64(ns))
}
