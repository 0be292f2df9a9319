package replay

import (
	"math"
	"slices"

	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// What a draw is for. Draws are functions of (seed, purpose, request, position), so that A and B, and two runs that
// differ elsewhere, meet the same luck.
const (
	drawLength uint64 = 1 + iota
	drawAccept
	drawOffer
)

// draw returns 64 random bits.
func draw(seed, purpose, request, position uint64) uint64 {
	return mix(mix(mix(mix(seed)^purpose)^request) ^ position)
}

// chance reports whether an event of probability p happens.
func chance(p float64, bits uint64) bool { return float64(bits>>11) < p*(1<<53) }

// mix is the finaliser of the SplitMix64 generator (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// enough is the number of known lengths from which a bucket stands for itself.
const enough = 20

// lengths holds the output lengths that a trace knows, sorted, by prompt bucket and over all.
type lengths struct {
	bucket [len(bucketNames)][]int
	all    []int
}

// known reports whether a record's output length is the whole answer's, as far as its client wanted it.
func known(r *trace.Record) bool {
	return (r.Outcome == "completed" || r.Outcome == "length") && r.OutputTokens > 0
}

func gatherLengths(records []trace.Record) *lengths {
	l := &lengths{}
	for i := range records {
		if r := &records[i]; known(r) {
			b := bucketOf(r.PromptTokens)
			l.bucket[b] = append(l.bucket[b], r.OutputTokens)
			l.all = append(l.all, r.OutputTokens)
		}
	}
	for i := range l.bucket {
		slices.Sort(l.bucket[i])
	}
	slices.Sort(l.all)
	return l
}

// draw returns a length above seen, the tokens that a censored request had got: one that its like had. Without any such
// length it is seen + 1.
func (l *lengths) draw(prompt, seen int, bits uint64) int {
	from := l.bucket[bucketOf(prompt)]
	if len(from) < enough {
		from = l.all
	}
	i, _ := slices.BinarySearch(from, seen+1)
	if from = from[i:]; len(from) == 0 {
		return seen + 1
	}
	return from[bits%uint64(len(from))]
}

// acceptance estimates the chance of one draft token from a record: a run of drafts ends at its first rejection, so
// there is at most one rejection an emission.
func acceptance(r *trace.Record, assumed float64) float64 {
	if r.Drafted == 0 {
		return assumed
	}
	rejected := min(r.Drafted-r.Accepted, r.Emissions)
	if r.Accepted+rejected == 0 {
		return assumed
	}
	return float64(r.Accepted) / float64(r.Accepted+rejected)
}

// offers is what a drafter has for a request: a draft of so many tokens, with that chance at each emission.
type offers struct {
	tokens int
	chance float64
}

// usualOffer is the length of an offer where a trace tells less.
const usualOffer = 4

// offersOf estimates offers from a record: whoever takes all of them drafts as much in an emission as the record did. Where a record has
// no drafts, there is always something on offer if any acceptance is assumed, and else nothing.
func offersOf(r *trace.Record, assumed float64) offers {
	switch {
	case r.Drafted > 0 && r.Emissions > 0:
		mean := float64(r.Drafted) / float64(r.Emissions)
		o := offers{tokens: min(max(int(math.Ceil(mean)), usualOffer), abi.MaxDraft)}
		o.chance = mean / float64(o.tokens)
		return o
	case assumed > 0:
		return offers{tokens: abi.MaxDraft, chance: 1}
	}
	return offers{}
}
