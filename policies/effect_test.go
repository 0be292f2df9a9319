package policies_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins"
)

// In overload nobody waits for longer than max_age and is served after all, and nobody who was shed is told a lie.
func TestQueueAgeInOverload(t *testing.T) {
	load := func() []trace.Record { return every(sec, 20*ms, 600, trace.DefaultClass, 64, 50) } // 50 a second
	device := linear{5 * ms, 2 * ms}                                                            // serves 8 a second
	if native := worst(traffic(t, device, load()), all, queueTime); native < 10*sec {
		t.Fatalf("without a policy the longest wait is %d ms: this is no overload", native/ms)
	}
	out := traffic(t, device, load(), policy(t, "queue-age", "max_age", "2s"))
	if longest := worst(out, all, queueTime); longest > 2*sec+100*ms {
		t.Errorf("somebody was served after %d ms in the queue", longest/ms)
	}
	served, shed := 0, 0
	for i := range out {
		switch r := &out[i]; r.Outcome {
		case "length":
			served++
		case "shed_from_queue":
			shed++
			if r.Status != 503 || r.Reason != "queue_age" || r.Admit.Policy != "queue-age" || r.Admit.Digest == "" || r.RetryAfter < sec || r.E2E < 2*sec {
				t.Fatalf("%+v", r)
			}
		default:
			t.Fatalf("a request ended as %s", r.Outcome)
		}
	}
	if served < 100 || served+shed != 600 {
		t.Errorf("%d served and %d shed", served, shed)
	}
}

// With arrival_factor most of an overload is turned away at once, and not after max_age.
func TestQueueAgeAtArrival(t *testing.T) {
	load := every(sec, 20*ms, 600, trace.DefaultClass, 64, 50)
	out := traffic(t, linear{5 * ms, 2 * ms}, load, policy(t, "queue-age", "max_age", "2s", "arrival_factor", "0.9"))
	count := map[string]int{}
	for i := range out {
		count[out[i].Outcome]++
	}
	if count["shed_at_arrival"] < 300 || count["shed_from_queue"] > 100 || count["length"] < 100 {
		t.Errorf("outcomes %v", count)
	}
}

// Thirty long batch requests hold all places and the queue. Nearly all interactive requests hardly notice, whatever has aged
// in the queue; a few wait for those places that batch had waited for long enough to keep. Batch is served all the same.
func TestClassPriorityUnderBatchLoad(t *testing.T) {
	load := func() []trace.Record {
		return append(every(sec, ms, 30, "batch", 256, 800), every(2*sec, 500*ms, 40, "interactive", 64, 20)...)
	}
	device := linear{5 * ms, ms}
	chat := func(r *trace.Record) bool { return r.Class == "interactive" }
	native := worst(traffic(t, device, load()), chat, ttft)
	out := traffic(t, device, load(), policy(t, "class-priority"))
	late := 0
	for i := range out {
		r := &out[i]
		if r.Outcome != "length" || r.Preemptions > 4 {
			t.Errorf("%s ended as %s after %d preemptions", r.Class, r.Outcome, r.Preemptions)
		}
		if chat(r) && *r.TTFT > 50*ms {
			late++
		}
	}
	if mine := worst(out, chat, ttft); native < 10*sec || mine > 2*sec || late > 6 {
		t.Errorf("the worst TTFT of interactive requests is %d ms, without the policy %d ms; %d of 40 are over 50 ms", mine/ms, native/ms, late)
	}
}

// Interactive traffic that fills the server by itself does not starve batch for longer than ageing allows.
func TestClassPriorityAges(t *testing.T) {
	load := append(every(sec, 35*ms, 1500, "interactive", 64, 25), every(5*sec, 100*ms, 10, "batch", 64, 25)...)
	batch := func(r *trace.Record) bool { return r.Class == "batch" }
	device := linear{5 * ms, 2 * ms}
	quick := worst(traffic(t, device, load, policy(t, "class-priority", "age_step", "1s")), batch, queueTime)
	slow := worst(traffic(t, device, load, policy(t, "class-priority", "age_step", "1h")), batch, queueTime)
	if quick > 15*sec || slow < 2*quick {
		t.Errorf("batch waits %d ms at most with ageing and %d ms without", quick/ms, slow/ms)
	}
}

// The time per output token comes to the target: with 5 + 5 ms for each request, 50 ms are nine of them.
func TestTPOTCapHoldsTheTarget(t *testing.T) {
	load := func() []trace.Record { return every(sec, 10*ms, 300, trace.DefaultClass, 16, 100) }
	device := linear{5 * ms, 5 * ms}
	late := func(r *trace.Record) bool { return r.Arrival > 2*sec }
	native := worst(traffic(t, device, load()), late, tpot)
	mine := worst(traffic(t, device, load(), policy(t, "tpot-cap")), late, tpot)
	if native < 80*ms || mine > 56*ms {
		t.Errorf("the worst TPOT is %d ms with the policy and %d ms without", mine/ms, native/ms)
	}
}

// Drafts that are accepted make answers faster, and no more of them are made than pay: where they are refused, answers come as fast as
// without speculation. max_batch is a limit all the same.
func TestSpecOffDraftsWhatPays(t *testing.T) {
	device := linear{20 * ms, ms} // sixteen requests with 15 drafts each take eight times as long as without
	few := func() []trace.Record { return every(sec, 500*ms, 3, trace.DefaultClass, 64, 200) }
	many := func() []trace.Record { return every(sec, 0, 16, trace.DefaultClass, 64, 200) }
	spec, limited := policy(t, "spec-off"), policy(t, "spec-off", "max_batch", "4")
	drafted := func(list []trace.Record) (n int) {
		for i := range list {
			n += list[i].Drafted
		}
		return n
	}
	for _, c := range []struct {
		what       string
		records    func() []trace.Record
		acceptance float64
		policy     plugins.Policy
		faster     float64 // the plain TPOT over the policy's, at least
		drafts     bool
	}{
		{"three requests whose drafts are good", few, 0.9, spec, 2, true},
		{"sixteen whose drafts are good", many, 0.9, spec, 1.4, true},
		{"three whose drafts are bad", few, 0.02, spec, 0.98, true},
		{"sixteen whose drafts are bad", many, 0.02, spec, 0.98, true},
		{"sixteen that are too many", many, 0.9, limited, 1, false},
	} {
		plain, got := traffic(t, device, c.records()), drafting(t, c.acceptance, device, c.records(), c.policy)
		if drafted(plain) != 0 {
			t.Fatalf("without anything to draft, %d tokens are drafted", drafted(plain))
		}
		if faster := float64(worst(plain, all, tpot)) / float64(worst(got, all, tpot)); faster < c.faster || c.drafts != (drafted(got) > 0) {
			t.Errorf("%s: %.2f times as fast with %d drafts", c.what, faster, drafted(got))
		}
	}
}
