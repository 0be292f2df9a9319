package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
)

// modelLabels stand on every vllm:* series, since the boards filter by them.
func modelLabels(model string) prometheus.Labels {
	return prometheus.Labels{"model_name": strings.ToValidUTF8(model, "?"), "engine": "0"}
}

// vllmMetrics are the request figures under the names that vLLM's boards read.
type vllmMetrics struct {
	success, rejections                                     *prometheus.CounterVec
	prompt, cacheQueries, cacheHits                         prometheus.Counter
	ttft, itl, tpot, e2e, queue, prefill, decode, inference prometheus.Histogram
}

func newVLLMMetrics(r prometheus.Registerer) vllmMetrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "vllm:" + name, Help: help})
		r.MustRegister(c)
		return c
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vllm:" + name, Help: help}, []string{label})
		r.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "vllm:" + name, Help: help, Buckets: buckets})
		r.MustRegister(h)
		return h
	}
	return vllmMetrics{
		success:      counters("request_success_total", "Requests that ran and ended, by the reason: stop, length, abort or error.", "finished_reason"),
		rejections:   counters("admission_rejections_total", "Requests that were refused before they ran.", "reason"),
		prompt:       counter("prompt_tokens_total", "Prompt tokens of requests that produced a token."),
		cacheQueries: counter("prefix_cache_queries_total", "Prompt tokens that were looked up in the prefix cache."),
		cacheHits:    counter("prefix_cache_hits_total", "Prompt tokens that were found in the prefix cache."),
		ttft:         histogram("time_to_first_token_seconds", "Time from arrival to the first token.", ttftBuckets),
		itl:          histogram("inter_token_latency_seconds", "Gaps between two emissions of a request.", itlBuckets),
		tpot:         histogram("request_time_per_output_token_seconds", "Mean time per output token after the first.", itlBuckets),
		e2e:          histogram("e2e_request_latency_seconds", "Time from arrival to the end.", e2eBuckets),
		queue:        histogram("request_queue_time_seconds", "Time from arrival to the first place in the batch.", e2eBuckets),
		prefill:      histogram("request_prefill_time_seconds", "Time from the first place in the batch to the first token.", e2eBuckets),
		decode:       histogram("request_decode_time_seconds", "Time from the first to the last token.", e2eBuckets),
		inference:    histogram("request_inference_time_seconds", "Time from the first place in the batch to the last token.", e2eBuckets),
	}
}

// finishedReasons maps the outcomes of requests that ran. One that never ran is a rejection or nobody's request.
var finishedReasons = map[string]string{
	sched.OutcomeCompleted.String():        "stop",
	sched.OutcomeLength.String():           "length",
	sched.OutcomeCancelledInQueue.String(): "abort",
	sched.OutcomeCancelledRunning.String(): "abort",
	sched.OutcomeDrained.String():          "abort",
	sched.OutcomeFailed.String():           "error",
	sched.OutcomePreemptFailed.String():    "error",
}

func (v *vllmMetrics) observe(rec *trace.Record) {
	why, ran := finishedReasons[rec.Outcome]
	if !ran && rec.Queue != nil { // its deadline passed while it ran
		why, ran = "abort", true
	}
	if ran {
		v.success.WithLabelValues(why).Inc()
	} else {
		v.rejections.WithLabelValues(reason(rec.Reason)).Inc()
	}
	observe(v.queue, rec.Queue)
	observe(v.ttft, rec.TTFT)
	observe(v.tpot, rec.TPOT)
	for i, g := range rec.Gaps {
		if i > 0 {
			v.itl.Observe(seconds(g.NS))
		}
	}
	if finished(rec.Outcome) {
		v.e2e.Observe(seconds(rec.E2E))
	}
	if rec.TTFT == nil || rec.Queue == nil {
		return
	}
	v.prompt.Add(float64(rec.PromptTokens))
	v.cacheQueries.Add(float64(rec.PromptTokens))
	v.cacheHits.Add(float64(rec.CachedTokens))
	prefill, decode := *rec.TTFT-*rec.Queue, decodeNS(rec)
	v.prefill.Observe(seconds(prefill))
	v.decode.Observe(seconds(decode))
	v.inference.Observe(seconds(prefill + decode))
}

// decodeNS is the time from the first token to the last, to within a nanosecond a token.
func decodeNS(rec *trace.Record) int64 {
	if rec.TPOT == nil {
		return 0
	}
	return *rec.TPOT * int64(rec.OutputTokens-1)
}
