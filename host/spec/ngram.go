package spec

import (
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// Drafter guesses how a text goes on. A drafter belongs to one request and to one goroutine. What it guesses never
// changes the text, only how many tokens a step emits.
type Drafter interface {
	// Reset forgets the request.
	Reset()
	// Append takes in what is new in history since the last call. history must extend the one of that call.
	// Calling it is optional: Draft does the same first.
	Append(history []gpu.Token)
	// Draft appends at most max tokens to out that may follow history and returns it.
	Draft(history []gpu.Token, max, nmin, nmax int, out []gpu.Token) []gpu.Token
}

// MaxNGram is the longest n-gram that NGram looks up.
const MaxNGram = 16

// NGram drafts by prompt lookup: it finds the longest n-gram at the end of the history (nmax down to nmin tokens) that
// occurred before, takes the most recent occurrence, and drafts what followed it there. What repeats without a break is
// drafted beyond the end of the history as well. The zero value is ready.
//
// It keeps an index of the n-grams, so a draft costs O(nmax) and a new token O(nmax - nmin), whatever the history's
// length. The index covers the sizes that were asked for; asking for further sizes builds it anew once.
type NGram struct {
	ends     map[ngramKey]int32 // n-gram -> end of its most recent occurrence
	indexed  int                // ends 1..indexed are in the index
	min, max int
	hit      int
}

// ngramKey is the hash of an n-gram and its length. Two n-grams with one hash cost a draft and nothing else: a match is
// compared token by token.
type ngramKey struct {
	hash uint64
	n    int32
}

// Reset forgets the request and keeps the memory.
func (g *NGram) Reset() {
	clear(g.ends)
	*g = NGram{ends: g.ends}
}

// HitLength is the length of the n-gram behind the last draft; 0 when nothing matched.
func (g *NGram) HitLength() int { return g.hit }

// Append indexes what is new in history.
func (g *NGram) Append(history []gpu.Token) {
	if g.indexed > 0 && len(history) <= g.indexed { // not an extension: start over rather than draft from another text
		min, max := g.min, g.max
		g.Reset()
		g.min, g.max = min, max
	}
	if g.max == 0 {
		return
	}
	// The n-gram that ends at the end of history is the one that will be looked up: it must not find itself, and an
	// n-gram that ends earlier has at least one token after it.
	for end := g.indexed + 1; end < len(history); end++ {
		g.insert(history[:end])
		g.indexed = end
	}
}

func (g *NGram) insert(text []gpu.Token) {
	var h uint64
	for n := 1; n <= min(g.max, len(text)); n++ {
		h = extend(h, text[len(text)-n])
		if n >= g.min {
			g.ends[ngramKey{h, int32(n)}] = int32(len(text))
		}
	}
}

// Draft appends at most max tokens that followed an earlier occurrence of the end of history. nmin below 1 counts as 1,
// nmax above MaxNGram as MaxNGram.
func (g *NGram) Draft(history []gpu.Token, max, nmin, nmax int, out []gpu.Token) []gpu.Token {
	g.hit = 0
	nmin, nmax = clampSizes(nmin, nmax)
	if max <= 0 || nmin > nmax {
		return out
	}
	g.cover(nmin, nmax)
	g.Append(history)
	end := g.find(history, nmin, nmax)
	if end == 0 {
		return out
	}
	return copyOn(history, end, max, out)
}

// copyOn appends at most max tokens that follow text[:end]. Where what follows end, to the end of the text, stands right before
// end as well, it is a period: text ends with two of it, and is taken to go on with more. Else a list that repeats every six tokens
// would never be drafted more than six tokens ahead.
func copyOn(text []gpu.Token, end, max int, out []gpu.Token) []gpu.Token {
	out = append(out, text[end:min(end+max, len(text))]...)
	period := len(text) - end
	if max <= period || end < period || !slices.Equal(text[end-period:end], text[end:]) {
		return out
	}
	for range max - period {
		out = append(out, out[len(out)-period])
	}
	return out
}

// find returns the end of the most recent occurrence of the longest suffix that occurred before, 0 if there is none.
func (g *NGram) find(history []gpu.Token, nmin, nmax int) (end int) {
	var h uint64
	for n := 1; n <= min(nmax, len(history)); n++ {
		h = extend(h, history[len(history)-n])
		if n < nmin {
			continue
		}
		e := int(g.ends[ngramKey{h, int32(n)}])
		if e == 0 || !slices.Equal(history[e-n:e], history[len(history)-n:]) {
			break // a longer suffix contains this one
		}
		end, g.hit = e, n
	}
	return end
}

// cover makes the index hold n-grams of nmin to nmax tokens.
func (g *NGram) cover(nmin, nmax int) {
	if g.max != 0 && g.min <= nmin && nmax <= g.max {
		return
	}
	if g.max != 0 {
		nmin, nmax = min(nmin, g.min), max(nmax, g.max)
	}
	g.Reset()
	if g.ends == nil {
		g.ends = make(map[ngramKey]int32)
	}
	g.min, g.max = nmin, nmax
}

func clampSizes(nmin, nmax int) (int, int) { return max(nmin, 1), min(nmax, MaxNGram) }

// extend hashes one more token to the left of an n-gram.
func extend(h uint64, t gpu.Token) uint64 {
	h = (h ^ uint64(uint32(t))) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

var _ Drafter = (*NGram)(nil)
