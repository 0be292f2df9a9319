package replay

import (
	"slices"

	"github.com/sluice-dev/sluice/host/trace"
)

// What a draw is for. Draws are functions of (seed, purpose, request, position), so that A and B, and two runs that
// differ elsewhere, meet the same luck.
const (
	drawLength uint64 = 1 + iota
	drawAccept
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
