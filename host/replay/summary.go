package replay

import (
	"slices"

	"github.com/sluice-dev/sluice/host/sched"
)

// bucketNames are the prompt lengths that are told apart, half-open, by the whole prompt in tokens.
var bucketNames = [...]string{"<512", "512-2k", "2k-8k", "8k-32k", ">=32k"}

var bucketEnds = [...]int{512, 2048, 8192, 32768}

func bucketOf(prompt int) int {
	for i, end := range bucketEnds {
		if prompt < end {
			return i
		}
	}
	return len(bucketEnds)
}

// Below so many values a percentile says little, and is marked.
const (
	fewForP95 = 20
	fewForP99 = 100
)

// Percentiles of exact integers by nearest rank, ns. They are nil when there is no value.
type Percentiles struct {
	N   int    `json:"n"`
	P50 *int64 `json:"p50"`
	P95 *int64 `json:"p95"`
	P99 *int64 `json:"p99"`
	Max *int64 `json:"max"`
	// Few lists the percentiles that N is too small for.
	Few []string `json:"few,omitempty"`
}

func percentiles(values []int64) Percentiles {
	p := Percentiles{N: len(values)}
	if p.N == 0 {
		return p
	}
	slices.Sort(values)
	p.P50, p.P95, p.P99, p.Max = nearestRank(values, 50), nearestRank(values, 95), nearestRank(values, 99), nearestRank(values, 100)
	if p.N < fewForP95 {
		p.Few = append(p.Few, "p95")
	}
	if p.N < fewForP99 {
		p.Few = append(p.Few, "p99")
	}
	return p
}

// nearestRank is the smallest value that at least percent of the sorted values do not exceed.
func nearestRank(sorted []int64, percent int) *int64 {
	v := sorted[(len(sorted)*percent+99)/100-1]
	return &v
}

// Summary is how the requests of one prompt bucket, or of all, fared.
type Summary struct {
	Bucket    string         `json:"bucket"`
	N         int            `json:"n"` // attempted
	TTFT      Percentiles    `json:"ttft_ns"`
	TPOT      Percentiles    `json:"tpot_ns"`    // its n leaves out requests with fewer than two tokens
	MaxGap    Percentiles    `json:"max_gap_ns"` // its n leaves out requests with fewer than two emissions
	ShedWait  Percentiles    `json:"shed_wait_ns"`
	Outcomes  map[string]int `json:"outcomes"`
	Shed      int            `json:"shed"`       // at arrival, from the queue, or expired
	Refused   int            `json:"refused"`    // of these, could never fit the server (400)
	Cancelled int            `json:"cancelled"`  // the client left
	Met       int            `json:"slo_met"`    // met every clause
	Served    int            `json:"slo_served"` // ran to their end
	Output    int64          `json:"output_tokens"`
}

// MetPPM is the SLO attainment over all that were attempted, in parts per million.
func (s *Summary) MetPPM() int64 { return share(s.Met, s.N) }

func share(part, whole int) int64 {
	if whole == 0 {
		return 0
	}
	return int64(part) * 1_000_000 / int64(whole)
}

// Summaries returns the buckets in order and, last, all requests together.
func (r *Result) Summaries() []Summary {
	out := make([]Summary, 0, len(bucketNames)+1)
	for b, name := range bucketNames {
		out = append(out, r.summarize(name, func(x *row) bool { return int(x.bucket) == b }))
	}
	return append(out, r.summarize("all", func(*row) bool { return true }))
}

func (r *Result) summarize(name string, in func(*row) bool) Summary {
	s := Summary{Bucket: name, Outcomes: map[string]int{}}
	var ttft, tpot, gap, wait []int64
	for i := range r.rows {
		x := &r.rows[i]
		if !in(x) {
			continue
		}
		s.count(x)
		ttft, tpot, gap = appendReached(ttft, x.ttft), appendReached(tpot, x.tpot), appendReached(gap, x.gap)
		if shed(x.outcome) {
			wait = append(wait, x.wait)
		}
	}
	s.TTFT, s.TPOT, s.MaxGap, s.ShedWait = percentiles(ttft), percentiles(tpot), percentiles(gap), percentiles(wait)
	return s
}

func appendReached(values []int64, v int64) []int64 {
	if v == absent {
		return values
	}
	return append(values, v)
}

func shed(o sched.Outcome) bool {
	return o == sched.OutcomeShedAtArrival || o == sched.OutcomeShedFromQueue || o == sched.OutcomeExpired
}

const statusRefused = 400

func (s *Summary) count(x *row) {
	s.N++
	s.Outcomes[x.outcome.String()]++
	s.Output += int64(x.output)
	if x.meets {
		s.Met++
	}
	switch o := x.outcome; {
	case shed(o):
		s.Shed++
		if x.status == statusRefused {
			s.Refused++
		}
	case o == sched.OutcomeCancelledInQueue || o == sched.OutcomeCancelledRunning:
		s.Cancelled++
	case o == sched.OutcomeCompleted || o == sched.OutcomeLength:
		s.Served++
	}
}
