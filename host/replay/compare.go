package replay

// Comparison sets two runs of the same trace side by side.
type Comparison struct {
	StepPercent int    `json:"step_percent"` // step time in percent of the model's
	A           Totals `json:"a"`
	B           Totals `json:"b"`
	Buckets     []Pair `json:"buckets"` // by prompt length; "all" comes last
}

// Totals describes one run as a whole.
type Totals struct {
	Name            string `json:"name"`
	Decisions       string `json:"decisions_sha256"`
	Steps           uint64 `json:"steps"`
	Makespan        int64  `json:"makespan_ns"`
	Busy            int64  `json:"busy_ns"` // time in which the device computed
	OutputTokens    uint64 `json:"output_tokens"`
	Preemptions     uint64 `json:"preemptions"`
	Recomputed      uint64 `json:"recomputed_tokens"`
	Drafted         uint64 `json:"drafted"`
	Accepted        uint64 `json:"accepted"`
	Forced          uint64 `json:"forced"`  // heads that ran against the policies' will
	Clamped         uint64 `json:"clamped"` // answers of policies beyond a hard limit
	TokensPerSecond int64  `json:"output_tokens_per_s"`
}

// Pair is one bucket in both runs.
type Pair struct {
	Bucket string  `json:"bucket"`
	A      Summary `json:"a"`
	B      Summary `json:"b"`
	Diff   Diff    `json:"a_minus_b"`
}

// Diff is A - B. A figure that one side does not have has no difference.
type Diff struct {
	TTFT      Quantiles `json:"ttft_ns"`
	TPOT      Quantiles `json:"tpot_ns"`
	MaxGap    Quantiles `json:"max_gap_ns"`
	Shed      int       `json:"shed"`
	Cancelled int       `json:"cancelled"`
	MetPPM    int64     `json:"slo_met_ppm"`
}

// Quantiles are differences of percentiles, ns.
type Quantiles struct {
	P50 *int64 `json:"p50"`
	P95 *int64 `json:"p95"`
	P99 *int64 `json:"p99"`
}

// Compare sets a beside b. Both must come from the same records, or the difference means nothing.
func Compare(a, b *Result) *Comparison {
	c := &Comparison{StepPercent: 100, A: a.totals(), B: b.totals()}
	left, right := a.Summaries(), b.Summaries()
	for i := range left {
		c.Buckets = append(c.Buckets, Pair{Bucket: left[i].Bucket, A: left[i], B: right[i], Diff: diff(&left[i], &right[i])})
	}
	return c
}

func (r *Result) totals() Totals {
	t := Totals{
		Decisions: r.Decisions, Steps: r.Stats.Steps, Makespan: r.Makespan, Busy: r.busy, OutputTokens: r.Stats.OutputTokens,
		Preemptions: r.Stats.Preemptions, Recomputed: r.Stats.RecomputedTokens, Drafted: r.Stats.Drafted, Accepted: r.Stats.Accepted,
		Forced: r.Stats.Forced, Clamped: r.Stats.Clamped,
	}
	if ms := r.Makespan / 1e6; ms > 0 {
		t.TokensPerSecond = int64(r.Stats.OutputTokens) * 1000 / ms
	}
	return t
}

func diff(a, b *Summary) Diff {
	return Diff{
		TTFT: minus(&a.TTFT, &b.TTFT), TPOT: minus(&a.TPOT, &b.TPOT), MaxGap: minus(&a.MaxGap, &b.MaxGap),
		Shed: a.Shed - b.Shed, Cancelled: a.Cancelled - b.Cancelled, MetPPM: a.MetPPM() - b.MetPPM(),
	}
}

func minus(a, b *Percentiles) Quantiles {
	sub := func(x, y *int64) *int64 {
		if x == nil || y == nil {
			return nil
		}
		d := *x - *y
		return &d
	}
	return Quantiles{P50: sub(a.P50, b.P50), P95: sub(a.P95, b.P95), P99: sub(a.P99, b.P99)}
}
