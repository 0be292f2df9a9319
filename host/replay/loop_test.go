package replay

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Two requests on a device with steps of 10 ms. The second arrives in the middle of the first's prefill step.
func TestTimesFollowFromTheSteps(t *testing.T) {
	got, res := ended(t, Input{Sim: device(10 * ms), Records: []trace.Record{request(0, 100, 3), request(5*ms, 100, 2)}})
	if len(got) != 2 || res.Stats.Steps != 3 {
		t.Fatalf("%d records, %d steps", len(got), res.Stats.Steps)
	}
	for i, want := range []struct{ queue, ttft, tpot, e2e int64 }{{0, 10 * ms, 10 * ms, 30 * ms}, {5 * ms, 15 * ms, 10 * ms, 25 * ms}} {
		r := got[i]
		if *r.Queue != want.queue || *r.TTFT != want.ttft || *r.TPOT != want.tpot || r.E2E != want.e2e || r.Outcome != "length" {
			t.Errorf("request %d: queue %d ttft %d tpot %d e2e %d %s", i, *r.Queue, *r.TTFT, *r.TPOT, r.E2E, r.Outcome)
		}
	}
	if res.Makespan != 30*ms {
		t.Errorf("makespan %d", res.Makespan)
	}
}

func TestIdleTimeIsSkippedAndSpeedScalesArrivals(t *testing.T) {
	records := []trace.Record{request(0, 10, 1), request(3600e9, 10, 1)}
	_, res := ended(t, Input{Sim: device(10 * ms), Records: records, Speed: 100})
	if res.Makespan != 36e9+10*ms || res.Stats.Steps != 2 {
		t.Errorf("makespan %d, %d steps", res.Makespan, res.Stats.Steps)
	}
	_, res = ended(t, Input{Sim: device(10 * ms), Records: records, StepPercent: 120})
	if res.Makespan != 3600e9+12*ms {
		t.Errorf("makespan %d at 120 %% step time", res.Makespan)
	}
}

// The queue is looked through every 10 ms while a step of 400 ms runs: what has waited for 25 ms ends with the tick after.
func TestTheQueueIsJudgedDuringAStep(t *testing.T) {
	p := device(400 * ms)
	p.MaxSeqs = 1
	got, _ := ended(t, Input{Sim: p, Policies: shedOlder(25 * ms), Records: []trace.Record{request(0, 10, 2), request(3*ms, 10, 2)}})
	r := got[0]
	if r.Outcome != "shed_from_queue" || r.E2E != 27*ms || r.Status != 503 || r.Reason != "queue_age" || r.RetryAfter <= 0 {
		t.Errorf("%+v", r)
	}
	if got[1].Outcome != "length" || got[1].OutputTokens != 2 {
		t.Errorf("%+v", got[1])
	}
}

func TestAClientLeavesWhenItLeft(t *testing.T) {
	waits, runs := request(2*ms, 10, 0), request(0, 10, 7)
	waits.Imported, waits.Outcome, waits.E2E = "", "cancelled_in_queue", 33*ms
	runs.Imported, runs.Outcome, runs.E2E = "", "cancelled_running", 95*ms
	long := request(4*ms, 10, 100)
	p := device(10 * ms)
	p.MaxSeqs = 1
	got, res := ended(t, Input{Sim: p, Records: []trace.Record{runs, waits, long}})
	if len(got) != 3 || res.Drawn != 2 {
		t.Fatalf("%d records, %d drawn", len(got), res.Drawn)
	}
	if r := got[0]; r.Outcome != "cancelled_in_queue" || r.E2E != 33*ms || r.TTFT != nil {
		t.Errorf("%+v", r)
	}
	// It left in the middle of its tenth step and is gone with that step's end.
	if r := got[1]; r.Outcome != "cancelled_running" || r.E2E != 100*ms || r.OutputTokens != 10 {
		t.Errorf("%+v", r)
	}
}

func TestDraftsAreAcceptedByTheirChance(t *testing.T) {
	four := &policy{speculate: func(_ *abi.State, out *abi.SpecPlan) { out.K = 4 }}
	records := []trace.Record{request(0, 10, 21)}
	for accept, steps := range map[float64]uint64{0: 21, 1: 5} { // one prefill, then five tokens a step
		_, res := ended(t, Input{Sim: device(10 * ms), Policies: four, Records: records, Acceptance: accept})
		if res.Stats.Steps != steps || res.Stats.OutputTokens != 21 {
			t.Errorf("acceptance %g: %d steps, %d tokens", accept, res.Stats.Steps, res.Stats.OutputTokens)
		}
	}
	long := []trace.Record{request(0, 10, 3000)}
	_, res := ended(t, Input{Sim: device(10 * ms), Policies: four, Records: long, Acceptance: 0.5})
	// 1 + 1/2 + 1/4 + 1/8 + 1/16 tokens a step are expected.
	if perStep := 3000 / float64(res.Stats.Steps); perStep < 1.85 || perStep > 2.03 {
		t.Errorf("%.2f tokens a step", perStep)
	}
	// A record that saw speculation overrides the assumption: 30 accepted, a rejection in each of 10 emissions.
	measured := long[0]
	measured.Drafted, measured.Accepted, measured.Emissions, measured.Imported = 80, 30, 10, ""
	if a := acceptance(&measured, 0.1); a != 0.75 {
		t.Errorf("acceptance %g", a)
	}
}

// A drafter has as much on offer as the record drafted, and nothing where it never did and nothing is assumed.
func TestDraftsAreOfferedAsOften(t *testing.T) {
	all := &policy{speculate: func(_ *abi.State, out *abi.SpecPlan) { out.K = 15 }}
	for _, c := range []struct {
		drafted, emissions int
		assumed            float64
		least, most        float64 // drafts a step
	}{
		{0, 0, 0, 0, 0}, {0, 0, 0.001, 14.9, 15}, {30, 100, 0.9, 0.25, 0.35}, {700, 100, 0, 6.9, 7}, {100, 100, 0, 0.9, 1.1},
	} {
		r := request(0, 10, 3000)
		r.Imported, r.Drafted, r.Emissions = "", c.drafted, c.emissions
		_, res := ended(t, Input{Sim: device(10 * ms), Policies: all, Records: []trace.Record{r}, Acceptance: c.assumed})
		if got := float64(res.Stats.Drafted) / float64(res.Stats.Steps); got < c.least || got > c.most {
			t.Errorf("%d drafts in %d emissions: %.2f drafts a step in the replay", c.drafted, c.emissions, got)
		}
	}
}

// Without a policy a replay speculates where that pays on the simulated device: for one request, and not for a batch of it.
func TestNativeSpeculationPaysInAReplay(t *testing.T) {
	p, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	busy := func(n int, accept float64) (ns int64, drafted uint64) {
		var records []trace.Record
		for range n {
			records = append(records, request(0, 10, 400))
		}
		res, err := Run(t.Context(), Input{Sim: p, Records: records, Acceptance: accept})
		if err != nil {
			t.Fatal(err)
		}
		return res.busy, res.Stats.Drafted
	}
	for _, n := range []int{1, 4, 16} {
		plain, _ := busy(n, 0)
		for _, accept := range []float64{0.05, 0.3, 0.6, 0.9} {
			with, drafted := busy(n, accept)
			if float64(with) > float64(plain)/0.98 {
				t.Errorf("%d requests, acceptance %.2f: %d ms with %d drafts, %d ms without", n, accept, with/ms, drafted, plain/ms)
			}
			if n == 1 && accept == 0.9 && with > plain*6/10 {
				t.Errorf("one request: %d ms with %d drafts, %d ms without", with/ms, drafted, plain/ms)
			}
		}
	}
}

// A policy sees no true output length: with the second half of the trace's lengths changed, everything shown to it stays
// the same up to the moment at which the first of them ends.
func TestNoPolicySeesALength(t *testing.T) {
	watch := func(length int) (seen [][]byte) {
		p := shedOlder(1e12)
		p.saw = func(rows []abi.Row) { seen = append(seen, slices.Clone(abi.SliceBytes(rows))) }
		p.rank = func(*abi.State, *abi.Row) int64 { return 0 }
		records := []trace.Record{request(0, 10, 500), request(ms, 10, length), request(2*ms, 700, length), request(90*ms, 20, length)}
		two := device(10 * ms)
		two.MaxSeqs = 2 // so that the others wait, and are shown at every tick
		ended(t, Input{Sim: two, Policies: p, Records: records})
		return seen
	}
	short, long := watch(40), watch(80)
	differ := 0
	for differ < len(short) && slices.Equal(short[differ], long[differ]) {
		differ++
	}
	// Four arrivals, then a look every 10 ms until the one with 40 tokens ends at about 400 ms.
	if differ < 40 || differ == len(short) {
		t.Errorf("the first call that differs is number %d of %d", differ, len(short))
	}
}

func TestCensoredLengthsAreDrawnAboveWhatWasSeen(t *testing.T) {
	var records []trace.Record
	for i := range 50 {
		records = append(records, request(int64(i)*ms, 100, 10+i))
	}
	cut := request(60*ms, 100, 30)
	cut.Imported, cut.Outcome, cut.E2E = "", "failed", ms
	shed := request(61*ms, 100, 0)
	shed.Imported, shed.Outcome = "", "shed_at_arrival"
	records = append(records, cut, shed)
	lengths := map[int]bool{}
	for seed := range uint64(40) {
		got, res := ended(t, Input{Sim: device(ms), Records: records, Seed: seed})
		if res.Drawn != 2 {
			t.Fatal(res.Drawn)
		}
		for _, r := range got {
			if r.ID == "replay-51" && (r.OutputTokens <= 30 || r.OutputTokens > 59) {
				t.Errorf("a request that had 30 tokens gets %d", r.OutputTokens)
			}
			if r.ID == "replay-52" {
				lengths[r.OutputTokens] = true
				if r.OutputTokens < 10 || r.OutputTokens > 59 {
					t.Errorf("%d tokens, which no request had", r.OutputTokens)
				}
			}
		}
	}
	if len(lengths) < 15 {
		t.Errorf("40 seeds drew only %d lengths", len(lengths))
	}
}

func TestWhatCanNeverFitIsRefused(t *testing.T) {
	got, res := ended(t, Input{Sim: device(ms), Records: []trace.Record{request(0, 5000, 1), request(ms, 10, 1)}})
	s := res.Summaries()
	all := s[len(s)-1]
	if got[0].Outcome != "shed_at_arrival" || got[0].Status != 400 || all.Refused != 1 || all.Shed != 1 || all.MetPPM() != 500_000 {
		t.Errorf("%+v\n%+v", got[0], all)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	good := Input{Sim: device(ms), Records: []trace.Record{request(0, 1, 1)}}
	many := good
	many.Records = nil
	for i := range 17 {
		r := request(int64(i), 1, 1)
		r.Class = string(rune('a' + i))
		many.Records = append(many.Records, r)
	}
	for says, in := range map[string]Input{
		"no records":          {Sim: device(ms)},
		"no simulated device": {Records: good.Records},
		"speed":               {Sim: good.Sim, Records: good.Records, Speed: -1},
		"step time":           {Sim: good.Sim, Records: good.Records, StepPercent: -5},
		"acceptance":          {Sim: good.Sim, Records: good.Records, Acceptance: 1.5},
		"arrives before":      {Sim: good.Sim, Records: []trace.Record{request(5, 1, 1), request(4, 1, 1)}},
		"one too many":        many,
	} {
		if _, err := Run(context.Background(), in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, good); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
