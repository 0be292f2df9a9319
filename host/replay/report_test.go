package replay

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

func TestPercentilesAreNearestRank(t *testing.T) {
	of := func(n int) Percentiles {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(i + 1)
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { values[i], values[j] = values[j], values[i] })
		return percentiles(values)
	}
	for _, c := range []struct {
		n             int
		p50, p95, p99 int64
		few           []string
	}{
		{1, 1, 1, 1, []string{"p95", "p99"}}, {2, 1, 2, 2, []string{"p95", "p99"}}, {19, 10, 19, 19, []string{"p95", "p99"}},
		{20, 10, 19, 20, []string{"p99"}}, {99, 50, 95, 99, []string{"p99"}}, {100, 50, 95, 99, nil}, {1000, 500, 950, 990, nil},
	} {
		p := of(c.n)
		if *p.P50 != c.p50 || *p.P95 != c.p95 || *p.P99 != c.p99 || *p.Max != int64(c.n) || !slices.Equal(p.Few, c.few) {
			t.Errorf("n %d: %d %d %d %v", c.n, *p.P50, *p.P95, *p.P99, p.Few)
		}
	}
	if p := percentiles(nil); p.P50 != nil || p.P99 != nil || p.N != 0 {
		t.Errorf("no values: %+v", p)
	}
}

func TestBucketsAreHalfOpen(t *testing.T) {
	for prompt, want := range map[int]string{1: "<512", 511: "<512", 512: "512-2k", 2047: "512-2k", 2048: "2k-8k", 8191: "2k-8k", 8192: "8k-32k", 32767: "8k-32k", 32768: ">=32k", 1 << 30: ">=32k"} {
		if got := bucketNames[bucketOf(prompt)]; got != want {
			t.Errorf("%d tokens: %s, want %s", prompt, got, want)
		}
	}
}

func TestSLOCountsWhatWasAttempted(t *testing.T) {
	slo := DefaultSLO()
	ok := row{outcome: sched.OutcomeCompleted, prompt: 100, ttft: 799 * ms, tpot: 49 * ms, gap: 499 * ms}
	for name, c := range map[string]struct {
		change func(*row)
		met    bool
	}{
		"all kept":                       {func(*row) {}, true},
		"TTFT at the limit":              {func(r *row) { r.ttft = 800 * ms }, false},
		"TTFT of a long prompt":          {func(r *row) { r.ttft, r.prompt = 5000*ms, 2000 }, true},
		"TPOT":                           {func(r *row) { r.tpot = 50 * ms }, false},
		"gap":                            {func(r *row) { r.gap = 500 * ms }, false},
		"one token has no TPOT":          {func(r *row) { r.tpot, r.gap = absent, absent }, true},
		"shed":                           {func(r *row) { *r = row{outcome: sched.OutcomeShedFromQueue, ttft: absent, tpot: absent, gap: absent} }, false},
		"cancelled after a good start":   {func(r *row) { r.outcome = sched.OutcomeCancelledRunning }, false},
		"length":                         {func(r *row) { r.outcome = sched.OutcomeLength }, true},
		"preempted more often than ever": {func(r *row) { r.outcome = sched.OutcomePreemptFailed }, false},
	} {
		r := ok
		c.change(&r)
		if slo.met(&r) != c.met {
			t.Errorf("%s: met %t", name, !c.met)
		}
	}
}

func TestNumbersAreWrittenExactly(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.0", 49_999: "0.0", 50_000: "0.1", -50_000: "-0.1", -49_999: "0.0", 1_250_000: "1.3", 123_456_789: "123.5", -2_000_000: "-2.0"} {
		if got := millis(ns); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
	for ppm, want := range map[int64]string{0: "0.00", 1_000_000: "100.00", 973_449: "97.34", 50: "0.01", -1_250: "-0.13"} {
		if got := percent(ppm); got != want {
			t.Errorf("%d ppm: %s, want %s", ppm, got, want)
		}
	}
}

func TestTheReportShowsBothSidesAndTheDifference(t *testing.T) {
	text, raw := reportOf(t, 7)
	for _, says := range []string{"TTFT_P95_MS", "step time 80 %", "step time 120 %", "A = shed", "B = native", "drawn from the others", "SLO_PCT", "TTFT < 800.0 ms"} {
		if !strings.Contains(string(text), says) {
			t.Errorf("%q is missing in\n%s", says, text)
		}
	}
	var rep Report
	if err := json.Unmarshal(raw, &rep); err != nil {
		t.Fatal(err)
	}
	all := rep.Comparisons[0].Buckets[len(bucketNames)]
	if all.Bucket != "all" || all.A.N != 300 || all.A.Shed == 0 || all.B.Shed != 0 || all.Diff.Shed != all.A.Shed {
		t.Errorf("%+v", all)
	}
	if want := *all.A.TTFT.P95 - *all.B.TTFT.P95; *all.Diff.TTFT.P95 != want || want >= 0 {
		t.Errorf("shedding changes TTFT p95 by %d ns", want)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "all" && f[1] == "A" && len(f) != 13 {
			t.Errorf("%d columns in %q", len(f), line)
		}
	}
}

func TestAFigureThatIsMissingHasNoDifference(t *testing.T) {
	v := int64(5)
	if d := minus(&Percentiles{P50: &v}, &Percentiles{}); d.P50 != nil || d.P95 != nil {
		t.Errorf("%+v", d)
	}
}

func TestASideThatDoesNotLoadIsAnError(t *testing.T) {
	broken := errors.New("not a module")
	in := Input{Sim: device(ms), Records: burst()[:1]}
	_, err := NewReport(context.Background(), in, Side{Name: "a.wasm", New: func() (abi.Decider, func(), error) { return nil, nil, broken }}, Side{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "a.wasm") {
		t.Error(err)
	}
}
