package sched

import (
	"math/bits"
	"sort"

	"github.com/sluice-dev/sluice/gpu"
)

// price is what a prompt token costs beside one at the beginning of its sequence: attention looks at all that is before it. Work is
// counted in units of 1/unit of such a token. The zero value has all tokens cost the same.
type price struct {
	far, farWide int64 // units more for every 1,024 tokens before it; in a step of wide rows and more
	wide         int   // rows; 0 = there is no such step
}

const (
	unit    = 1 << 10
	maxFar  = 1 << 16 // 64 tokens for every 1,024 before it
	maxWork = maxTokens * unit
)

// newPrice takes the measured prices; what was not measured costs nothing.
func newPrice(c *gpu.Costs) (p price) {
	if c.PrefillToken <= 0 {
		return p
	}
	relative := func(ns int64) int64 { return min(scaled(max(0, ns), unit, c.PrefillToken), maxFar) }
	p.far = relative(c.PrefillFar)
	if c.WideRows > 0 && c.PrefillFarWide > 0 && c.PrefillFarWide < c.PrefillFar {
		p.wide, p.farWide = c.WideRows, relative(c.PrefillFarWide)
	}
	return p
}

// slope is the price of distance in a step of so many rows.
func (p *price) slope(rows int) int64 {
	if p.wide > 0 && rows >= p.wide {
		return p.farWide
	}
	return p.far
}

// work is that of n tokens from the position start on.
func work(start, n int, slope int64) int64 {
	return int64(n) * token(start+n/2, slope)
}

// token is the work of one token at a position.
func token(pos int, slope int64) int64 { return unit + int64(pos)*slope/1024 }

// tokens is how many tokens from start on are done with so much work: one at least, if there is any.
func tokens(start int, w, slope int64) int {
	if w <= 0 {
		return 0
	}
	most := int(min(w/token(start, slope), maxTokens))
	if slope > 0 { // the later ones cost more than the first
		most = sort.Search(most, func(n int) bool { return work(start, n+1, slope) > w })
	}
	return max(most, 1)
}

// share is a part of what a step may hold of prompts: so many tokens, and so much work.
type share struct {
	tokens int
	work   int64
}

func (s share) none() bool { return s.tokens <= 0 || s.work <= 0 }

// half and rest are the two halves; the first is the larger one.
func (s share) half() share { return share{(s.tokens + 1) / 2, (s.work + 1) / 2} }
func (s share) rest() share { return share{s.tokens / 2, s.work / 2} }

// merge puts a part back that was kept aside. What others took beyond their own part, which is less than a token, is not taken off it.
func (s *share) merge(kept share) {
	s.tokens += kept.tokens
	s.work = max(0, s.work) + kept.work
}

// of is how many tokens from start on are in it.
func (s share) of(start int, slope int64) int { return min(s.tokens, tokens(start, s.work, slope)) }

func (s *share) take(start, n int, slope int64) {
	s.tokens -= n
	s.work -= work(start, n, slope)
}

// cheaper compares two samples by cost for the same work.
func (s sample) cheaper(than sample) int {
	ahi, alo := bits.Mul64(uint64(s.cost), uint64(than.work))
	bhi, blo := bits.Mul64(uint64(than.cost), uint64(s.work))
	switch {
	case ahi == bhi && alo == blo:
		return 0
	case ahi < bhi || ahi == bhi && alo < blo:
		return -1
	}
	return 1
}
