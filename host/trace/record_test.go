package trace

import (
	"errors"
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

func ns(v int64) *int64 { return &v }

// served is a record that holds: 5 tokens in 3 emissions.
func served() Record {
	return Record{
		V: Version, ID: "a", Arrival: 1_700_000_000_000_000_000, Class: DefaultClass, PromptTokens: 7, MaxTokens: 5, OutputTokens: 5,
		Outcome: "length", Status: 200, Queue: ns(10), TTFT: ns(30), TPOT: ns(25), MaxGap: ns(60), E2E: 140, Emissions: 3,
		Gaps:    []Gap{{0, 1}, {40, 2}, {60, 2}},
		Drafted: 6, Accepted: 2,
		Admit: Decider{Policy: "queue-age", Digest: "ab", Fallback: true}, Prioritize: Decider{Policy: NativeName},
		Batch: Decider{Policy: NativeName}, Spec: Decider{Policy: NativeName},
	}
}

func TestEveryBrokenInvariantIsNoticed(t *testing.T) {
	good := served()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, breakIt := range map[string]func(*Record){
		"version of the future":         func(r *Record) { r.V = Version + 1 },
		"no version":                    func(r *Record) { r.V = 0 },
		"no id":                         func(r *Record) { r.ID = "" },
		"no outcome":                    func(r *Record) { r.Outcome = "" },
		"outcome none":                  func(r *Record) { r.Outcome = "none" },
		"unknown outcome":               func(r *Record) { r.Outcome = "lost" },
		"negative arrival":              func(r *Record) { r.Arrival = -1 },
		"negative tokens":               func(r *Record) { r.PromptTokens = -1 },
		"negative queue":                func(r *Record) { *r.Queue = -1 },
		"first before scheduled":        func(r *Record) { *r.TTFT = 9 },
		"last after end":                func(r *Record) { r.E2E = 129 },
		"scheduled after end":           func(r *Record) { *r.Queue, r.E2E = 200, 140 },
		"ttft missing":                  func(r *Record) { r.TTFT = nil },
		"queue missing":                 func(r *Record) { r.Queue = nil },
		"tpot missing":                  func(r *Record) { r.TPOT = nil },
		"tpot of one token":             func(r *Record) { r.OutputTokens, r.Emissions, r.MaxGap, r.Gaps = 1, 1, nil, nil },
		"tpot 0 for none":               func(r *Record) { r.TPOT = ns(0) },
		"max gap missing":               func(r *Record) { r.MaxGap = nil },
		"max gap of one emission":       func(r *Record) { r.Emissions, r.Gaps = 1, nil },
		"max gap is not the largest":    func(r *Record) { *r.MaxGap = 59 },
		"gap tokens do not sum up":      func(r *Record) { r.Gaps[1].Tokens = 3 },
		"gaps do not sum up":            func(r *Record) { r.Gaps[1].NS = 44 },
		"first gap not 0":               func(r *Record) { r.Gaps[0].NS = 1 },
		"empty emission":                func(r *Record) { r.Gaps[1].Tokens, r.Gaps[2].Tokens = 0, 4 },
		"gap missing":                   func(r *Record) { r.Gaps = r.Gaps[:2] },
		"more emissions than tokens":    func(r *Record) { r.Emissions, r.Gaps = 6, nil },
		"more accepted than drafted":    func(r *Record) { r.Accepted = 7 },
		"shed, yet it ran":              func(r *Record) { r.Outcome = "shed_from_queue" },
		"cancelled in queue, yet ran":   func(r *Record) { r.Outcome = "cancelled_in_queue" },
		"imported, yet it was measured": func(r *Record) { r.Imported = "csv" },
	} {
		r := served()
		breakIt(&r)
		if err := r.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAShedRequestHasNoLatencies(t *testing.T) {
	rec := FromRequest(&sched.Request{
		PromptTokens: 9, MaxTokens: 4, Arrival: 100, Enqueued: 100, Ended: 2_100, Outcome: sched.OutcomeShedFromQueue,
		Verdict: sched.Verdict{Status: 503, Reason: abi.ReasonQueueAge, RetryAfter: 2e9}, AdmitBy: -3,
	}, "batch", nil)
	rec.ID = "x"
	if err := rec.Validate(); err != nil {
		t.Fatal(err)
	}
	if rec.Queue != nil || rec.TTFT != nil || rec.TPOT != nil || rec.MaxGap != nil || rec.E2E != 2_000 {
		t.Errorf("%+v", rec)
	}
	if rec.Status != 503 || rec.Reason != "queue_age" || rec.RetryAfter != 2e9 || rec.Outcome != "shed_from_queue" || rec.Class != "batch" {
		t.Errorf("%+v", rec)
	}
	if want := (Decider{Policy: "policy-3", Fallback: true}); rec.Admit != want || rec.Spec != (Decider{Policy: NativeName}) {
		t.Errorf("admit %+v, spec %+v", rec.Admit, rec.Spec)
	}
}

func TestARecordSaysWhatPreemptionsAndTheCacheDid(t *testing.T) {
	rec := FromRequest(&sched.Request{
		PromptTokens: 40, MaxTokens: 4, Generated: 4, Emissions: 4, Arrival: 100, Enqueued: 100, Scheduled: 200, FirstToken: 300, LastToken: 900, Ended: 900,
		Outcome: sched.OutcomeLength, Preemptions: 2, TokensLost: 17, Requeued: 55, Cached: 32,
	}, "batch", nil)
	if rec.CachedTokens != 32 || rec.Preemptions != 2 || rec.TokensLost != 17 || rec.Requeued != 55 {
		t.Errorf("%+v", rec)
	}
}

// Whatever monotone stamps a scheduler hands over, the record that follows holds every invariant and agrees with the
// definitions.
func TestRecordsOfEndedRequestsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gaps := drawEnded(t)
		rec := FromRequest(r, DefaultClass, nil)
		rec.ID, rec.Gaps = "r", gaps
		if err := rec.Validate(); err != nil {
			t.Fatalf("%v\n%+v", err, rec)
		}
		if rec.TTFT != nil && *rec.TTFT != r.FirstToken-r.Arrival {
			t.Fatalf("ttft %d", *rec.TTFT)
		}
		if rec.TPOT != nil && *rec.TPOT != (r.LastToken-r.FirstToken)/int64(r.Generated-1) {
			t.Fatalf("tpot %d", *rec.TPOT)
		}
	})
}

func drawEnded(t *rapid.T) (*sched.Request, []Gap) {
	at := rapid.Int64Range(0, 1<<40).Draw(t, "arrival")
	advance := func(what string) int64 {
		at += rapid.Int64Range(0, 1<<35).Draw(t, what)
		return at
	}
	r := &sched.Request{PromptTokens: rapid.IntRange(1, 1<<20).Draw(t, "prompt"), MaxTokens: 1 << 20, Arrival: at}
	r.Enqueued = advance("enqueued")
	if !rapid.Bool().Draw(t, "ran") {
		r.Ended = advance("ended")
		r.Outcome = rapid.SampledFrom([]sched.Outcome{
			sched.OutcomeShedAtArrival, sched.OutcomeShedFromQueue, sched.OutcomeExpired, sched.OutcomeCancelledInQueue, sched.OutcomeDrained,
		}).Draw(t, "outcome")
		return r, nil
	}
	r.Scheduled = max(advance("scheduled"), 1)
	at = r.Scheduled
	var gaps []Gap
	for range rapid.IntRange(1, 20).Draw(t, "emissions") {
		g := Gap{Tokens: rapid.IntRange(1, 16).Draw(t, "tokens")}
		before := at
		now := advance("gap")
		if r.Emissions == 0 {
			r.FirstToken = now
		} else {
			g.NS = now - before
			r.MaxGap = max(r.MaxGap, g.NS)
		}
		r.LastToken = now
		r.Emissions++
		r.Generated += g.Tokens
		gaps = append(gaps, g)
	}
	r.Ended = advance("ended")
	r.Outcome = rapid.SampledFrom([]sched.Outcome{
		sched.OutcomeCompleted, sched.OutcomeLength, sched.OutcomeCancelledRunning, sched.OutcomeFailed, sched.OutcomePreemptFailed, sched.OutcomeExpired,
	}).Draw(t, "outcome")
	return r, gaps
}
