package measure

import (
	"math/bits"
	"slices"

	"github.com/sluice-dev/sluice/gpu"
)

// Buckets and Drafts are the numbers of sequences and of drafts a sequence of gpu.Costs.Step: 1<<bucket sequences, 0 to 15 drafts.
const (
	Buckets = len(gpu.Costs{}.Step)
	Drafts  = len(gpu.Costs{}.Step[0])
)

// Report is what was found out.
type Report struct {
	Costs   gpu.Costs
	Samples [Buckets][Drafts]int // steps behind each entry of Costs.Step; 0 beside a cost is one that lies between two that were measured
	Largest int                  // sequences of the last bucket that has costs: the device's limit where that is no power of two
	TookNS  int64
	Spread  float64 // how much longer the middle one of repeated steps took than the fastest, as a factor: 1 = all alike; 0 = none was repeated
}

// disturbed is the Spread beyond which a report says more about what else ran than about the device: an idle one has 1.0 to 1.2.
const disturbed = 1.5

// Disturbed tells whether something else kept the machine busy meanwhile.
func (r *Report) Disturbed() bool { return r.Spread > disturbed }

// PrefillPerSecond is the prompt tokens a second beyond a step's other rows; 0 = not measured.
func (r *Report) PrefillPerSecond() float64 {
	if r.Costs.PrefillToken <= 0 {
		return 0
	}
	return 1e9 / float64(r.Costs.PrefillToken)
}

// DecodePerSecond is the tokens a second of so many sequences without drafts; 0 = not measured.
func (r *Report) DecodePerSecond(seqs int) float64 {
	bucket := bits.Len(uint(max(seqs, 1) - 1))
	if bucket >= Buckets || r.Costs.Step[bucket][0] <= 0 {
		return 0
	}
	return float64(seqs) * 1e9 / float64(r.Costs.Step[bucket][0])
}

// interpolate fills in what lies between two numbers of drafts that were measured, in a straight line.
func interpolate(row *[Drafts]int64) {
	last := -1
	for k, ns := range row {
		if ns == 0 {
			continue
		}
		for i := last + 1; last >= 0 && i < k; i++ {
			row[i] = row[last] + (ns-row[last])*int64(i-last)/int64(k-last)
		}
		last = k
	}
}

// MeasuredDrafts lists the numbers of drafts that Run measures, in rising order.
func MeasuredDrafts() []int { return slices.Sorted(slices.Values(drafts)) }
