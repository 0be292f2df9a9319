package metrics_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/metrics"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fatalf is what rapid.T and testing.T share.
type fatalf interface {
	Helper()
	Fatalf(format string, args ...any)
}

func parse(t fatalf, page []byte) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("the page is not valid: %v\n%s", err, page)
	}
	return families
}

func text(t fatalf, m *metrics.Metrics) []byte {
	t.Helper()
	page, err := m.Text()
	if err != nil {
		t.Fatalf("page: %v", err)
	}
	return page
}

// value is the counter or gauge of the series with the given labels, and its existence.
func value(f *dto.MetricFamily, labels ...string) (float64, bool) {
	for _, m := range f.GetMetric() {
		if !hasLabels(m, labels) {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue(), true
		case m.Gauge != nil:
			return m.Gauge.GetValue(), true
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount()), true
		}
	}
	return 0, false
}

func hasLabels(m *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

func ns(d time.Duration) *int64 { v := int64(d); return &v }

// answered is a record of four tokens in three emissions.
func answered() *trace.Record {
	return &trace.Record{
		V: 1, ID: "a", Class: "interactive", Outcome: "length", Status: 200, Stream: true, PromptTokens: 100, MaxTokens: 4, OutputTokens: 4,
		Queue: ns(20 * time.Millisecond), TTFT: ns(120 * time.Millisecond), TPOT: ns(30 * time.Millisecond), MaxGap: ns(60 * time.Millisecond),
		E2E: int64(210 * time.Millisecond), Emissions: 3, CachedTokens: 48,
		Gaps: []trace.Gap{{NS: 0, Tokens: 1}, {NS: int64(30 * time.Millisecond), Tokens: 1}, {NS: int64(60 * time.Millisecond), Tokens: 2}},
	}
}

func sample() metrics.Sample {
	s := metrics.Sample{
		Faults: engine.Faults{Steps: 1, Stalls: 2, Resets: 3, Lost: 4, KV: 5},
		State:  abi.State{WaitingRequests: 3, WaitingDeferred: 1, Running: 2, BlocksTotal: 100, BlocksFree: 75, BlocksCached: 15, BlockSize: 16, PolicyEpoch: 4, WaitingTokens: 500},
		Stats:  sched.Stats{Steps: 10, Arrived: 9, Admitted: 8, Preemptions: 1, OutputTokens: 50, PrefillTokens: 300, EvictedBlocks: 7, Saves: 3, Restores: 2, RestoredTokens: 640, OffloadedTokens: 1200, ReloadedTokens: 900, Drafts: 15, Drafted: 20, Accepted: 12},
		Policies: []metrics.Policy{{Name: "queue-age", Digest: "aa11", Hooks: []metrics.Hook{
			{Name: "admit", Calls: 7, Abstains: 2, Fallbacks: map[string]uint64{"trap": 1, "out_of_fuel": 0}},
		}}, {Name: "tpot-cap", Digest: "bb22", Quarantined: true, Hooks: []metrics.Hook{{Name: "batch_cap", Calls: 3}}}},
		Traces: &metrics.Traces{Written: 6, Dropped: map[string]uint64{"ring_full": 2}},
	}
	s.State.Classes[0].Running, s.State.Classes[1].Waiting = 2, 3
	s.Stats.Aged, s.Stats.Rejecting, s.Stats.Infeasible, s.Stats.Refused[1].ByLimit[0] = 4, 1, 6, 9
	s.Stats.DraftedAt[0], s.Stats.AcceptedAt[0] = 15, 9
	return s
}

func page(t *testing.T) []byte {
	m := metrics.New(metrics.Options{Model: "m", Classes: []string{"interactive", "batch"}, Source: func() (metrics.Sample, error) { return sample(), nil }})
	m.ObserveRecord(answered())
	m.ObserveRecord(&trace.Record{Class: "batch", Outcome: "shed_from_queue", Status: 503, Reason: "queue_age", E2E: 5e9, PromptTokens: 10, MaxTokens: 1})
	m.ObserveRecord(&trace.Record{Class: "batch", Outcome: "cancelled_in_queue", Status: 499, E2E: 1e9, PromptTokens: 10, MaxTokens: 1})
	m.Response("/v1/chat/completions", 200)
	m.SlotReleased(3 * time.Millisecond)
	m.FirstWrite(121 * time.Millisecond)
	return text(t, m)
}

// A deadline that passes while a request runs is no refusal at the door.
func TestARequestThatRanIntoItsDeadlineWasAdmitted(t *testing.T) {
	m := metrics.New(metrics.Options{Model: "m", Classes: []string{"interactive"}, Source: func() (metrics.Sample, error) { return sample(), nil }})
	r := answered()
	r.Outcome, r.Status, r.Reason = "expired", 503, "deadline"
	m.ObserveRecord(r)
	page := parse(t, text(t, m))
	if n, _ := value(page["vllm:request_success_total"], "finished_reason", "abort"); n != 1 {
		t.Errorf("%v requests were aborted", n)
	}
	if n, ok := value(page["vllm:admission_rejections_total"], "reason", "deadline"); ok && n != 0 {
		t.Errorf("%v were refused", n)
	}
	if n, _ := value(page["sluice_rejections_total"], "reason", "deadline"); n != 1 {
		t.Errorf("%v by reason", n)
	}
}

// The golden page is what dashboards and alerts are written against; the values are held by the other tests.
func TestGoldenPage(t *testing.T) {
	got := page(t)
	parse(t, got)
	const file = "testdata/page.golden"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the page differs from %s (run with -update and look at the difference)", file)
	}
}

func TestFiguresMeanWhatTheirNamesSay(t *testing.T) {
	f := parse(t, page(t))
	for _, c := range []struct {
		name   string
		want   float64
		labels string
	}{
		{"sluice_requests_total", 1, "class=interactive outcome=length"},
		{"sluice_requests_total", 0, "class=interactive outcome=failed"},
		{"sluice_rejections_total", 1, "class=batch reason=queue_age"},
		{"sluice_output_tokens_total", 4, "class=interactive"},
		{"sluice_ttft_seconds", 1, "class=interactive"},
		{"sluice_running_requests", 2, "class=interactive"},
		{"sluice_waiting_requests", 3, "class=batch"},
		{"sluice_policy_calls_total", 7, "hook=admit policy=queue-age digest=aa11"},
		{"sluice_policy_fallbacks_total", 1, "reason=trap"},
		{"sluice_policy_active_info", 0, "policy=tpot-cap"},
		{"sluice_trace_dropped_total", 2, "reason=ring_full"},
		{"vllm:num_requests_running", 2, "model_name=m"},
		{"vllm:num_requests_waiting_by_reason", 2, "reason=capacity"},
		{"vllm:kv_cache_usage_perc", 0.25, ""}, // what is cached is not in use
		{"vllm:prefix_cache_queries_total", 100, ""},
		{"vllm:prefix_cache_hits_total", 48, ""},
		{"sluice_kv_blocks", 60, "state=free"},
		{"sluice_kv_blocks", 15, "state=cached"},
		{"sluice_kv_blocks", 25, "state=used"},
		{"sluice_kv_evicted_blocks_total", 7, ""},
		{"sluice_kv_restored_tokens_total", 640, ""},
		{"vllm:request_success_total", 1, "finished_reason=length"},
		{"vllm:request_success_total", 1, "finished_reason=abort"},
		{"vllm:admission_rejections_total", 1, "reason=queue_age"},
		{"vllm:prompt_tokens_total", 100, ""},
		{"vllm:request_inference_time_seconds", 1, ""},
		{"vllm:inter_token_latency_seconds", 2, ""}, // three emissions have two gaps
		{"vllm:spec_decode_num_drafts_total", 15, ""},
		{"vllm:cache_config_info", 1, "block_size=16 num_gpu_blocks=100"},
		{"sluice_slot_release_delay_seconds", 1, ""},
	} {
		got, ok := value(f[c.name], strings.FieldsFunc(c.labels, func(r rune) bool { return r == ' ' || r == '=' })...)
		if !ok || got != c.want {
			t.Errorf("%s{%s} = %v (there: %v), want %v", c.name, c.labels, got, ok, c.want)
		}
	}
}

// A request that was shed or cancelled has no TTFT and no E2E: absent is not 0.
func TestWhatWasNeverReachedIsNotObserved(t *testing.T) {
	f := parse(t, page(t))
	for _, name := range []string{"vllm:time_to_first_token_seconds", "vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds", "vllm:request_decode_time_seconds"} {
		if n, _ := value(f[name]); n != 1 {
			t.Errorf("%s has %v observations of one answered request", name, n)
		}
	}
	h := f["vllm:request_decode_time_seconds"].GetMetric()[0].GetHistogram()
	if sum := h.GetSampleSum(); sum != 0.09 {
		t.Errorf("decode time is %v s, want 3 gaps of 30 ms", sum)
	}
}

func TestAnEngineThatDoesNotAnswerLeavesAValidPage(t *testing.T) {
	m := metrics.New(metrics.Options{Model: "m", Source: func() (metrics.Sample, error) { return metrics.Sample{}, errors.New("closed") }})
	f := parse(t, text(t, m))
	if up, ok := value(f["sluice_engine_up"]); !ok || up != 0 {
		t.Errorf("engine_up = %v (there: %v)", up, ok)
	}
	if f["vllm:num_requests_running"] != nil {
		t.Error("figures of an engine that does not answer")
	}
}

// Whatever records say, the page stays valid, its size bounded, and no request is lost from the sum over outcomes.
func TestHostileRecordsKeepTheSeriesBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := metrics.New(metrics.Options{Model: rapid.String().Draw(t, "model"), Classes: []string{"interactive"}})
		before := bytes.Count(text(t, m), []byte("\n"))
		n := rapid.IntRange(0, 40).Draw(t, "records")
		for i := range n {
			o := rapid.SampledFrom(sched.Outcomes()).Draw(t, "outcome")
			m.ObserveRecord(&trace.Record{
				Class: rapid.String().Draw(t, "class"), Tenant: fmt.Sprint(i), Reason: rapid.String().Draw(t, "reason"), Outcome: o.String(),
				OutputTokens: i, TTFT: ns(time.Duration(i)), Queue: ns(0),
			})
			m.Response(rapid.String().Draw(t, "route"), rapid.Int().Draw(t, "status"))
		}
		got := text(t, m)
		sum := 0.0
		for _, series := range parse(t, got)["sluice_requests_total"].GetMetric() {
			sum += series.Counter.GetValue()
		}
		if int(sum) != n {
			t.Fatalf("the outcomes sum up to %v of %d requests", sum, n)
		}
		// One more class ("other"), its reason, and one more route: no more than these can appear.
		if grown := bytes.Count(got, []byte("\n")) - before; grown > 400 {
			t.Fatalf("the page grew by %d lines for %d records", grown, n)
		}
	})
}

func TestHammer(t *testing.T) {
	m := metrics.New(metrics.Options{Model: "m", Classes: []string{"interactive"}, Source: func() (metrics.Sample, error) { return sample(), nil }})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				m.ObserveRecord(answered())
				m.Response("/v1/completions", 200)
			}
		})
		wg.Go(func() {
			for range 5 {
				parse(t, text(t, m))
			}
		})
	}
	wg.Wait()
	if n, _ := value(parse(t, text(t, m))["sluice_e2e_seconds"]); n != 200 {
		t.Errorf("%v of 200 records", n)
	}
}
