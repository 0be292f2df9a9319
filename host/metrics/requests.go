package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
)

// Buckets in seconds, those of vLLM, so that panels with fixed buckets fit.
var (
	ttftBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBuckets  = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	e2eBuckets  = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

// requestMetrics are Sluice's own figures of requests that ended.
type requestMetrics struct {
	total                           *prometheus.CounterVec // class, outcome
	rejections                      *prometheus.CounterVec // class, reason
	prompt, output                  *prometheus.CounterVec // class
	queue, ttft, tpot, maxGap, e2e  *prometheus.HistogramVec
	preemptions, lost, fallbackReqs prometheus.Counter
}

func newRequestMetrics(r prometheus.Registerer) requestMetrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(v)
		return v
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"class"})
		r.MustRegister(h)
		return h
	}
	return requestMetrics{
		total:        counters("sluice_requests_total", "Requests that ended. The sum over outcomes is the number of arrivals that ended.", "class", "outcome"),
		rejections:   counters("sluice_rejections_total", "Requests that a policy, a limit or their own TTL refused.", "class", "reason"),
		prompt:       counters("sluice_prompt_tokens_total", "Prompt tokens of requests that produced a token.", "class"),
		output:       counters("sluice_output_tokens_total", "Output tokens of requests that ended.", "class"),
		queue:        histogram("sluice_queue_seconds", "Time from arrival to the first place in the batch.", ttftBuckets),
		ttft:         histogram("sluice_ttft_seconds", "Time from arrival to the first token, queueing included.", ttftBuckets),
		tpot:         histogram("sluice_tpot_seconds", "Time per output token after the first, of requests with two tokens or more.", itlBuckets),
		maxGap:       histogram("sluice_max_gap_seconds", "Largest gap between two emissions of a request, preemptions included.", itlBuckets),
		e2e:          histogram("sluice_e2e_seconds", "Time from arrival to the end, of requests that completed.", e2eBuckets),
		preemptions:  counter("sluice_request_preemptions_total", "Preemptions of requests that ended."),
		lost:         counter("sluice_recomputed_request_tokens_total", "Tokens that preemptions made requests compute again."),
		fallbackReqs: counter("sluice_fallback_requests_total", "Requests of which at least one decision was the native default's because a policy failed."),
	}
}

// ObserveRecord takes in a request that ended. It is cheap enough for the decode loop's goroutine: it waits for nothing.
func (m *Metrics) ObserveRecord(rec *trace.Record) {
	class := m.class(rec.Class)
	q := &m.requests
	q.total.WithLabelValues(class, rec.Outcome).Inc()
	q.output.WithLabelValues(class).Add(float64(rec.OutputTokens))
	q.preemptions.Add(float64(rec.Preemptions))
	q.lost.Add(float64(rec.TokensLost))
	if _, ran := finishedReasons[rec.Outcome]; !ran {
		q.rejections.WithLabelValues(class, reason(rec.Reason)).Inc()
	}
	if rec.Admit.Fallback || rec.Prioritize.Fallback || rec.Batch.Fallback || rec.Spec.Fallback {
		q.fallbackReqs.Inc()
	}
	observe(q.queue.WithLabelValues(class), rec.Queue)
	observe(q.ttft.WithLabelValues(class), rec.TTFT)
	observe(q.tpot.WithLabelValues(class), rec.TPOT)
	observe(q.maxGap.WithLabelValues(class), rec.MaxGap)
	if rec.TTFT != nil {
		q.prompt.WithLabelValues(class).Add(float64(rec.PromptTokens))
	}
	if finished(rec.Outcome) {
		q.e2e.WithLabelValues(class).Observe(seconds(rec.E2E))
	}
	m.vllm.observe(rec)
}

// finished tells whether the client got a whole answer.
func finished(outcome string) bool {
	return outcome == sched.OutcomeCompleted.String() || outcome == sched.OutcomeLength.String()
}

// observe leaves out what was never reached: absent is not 0.
func observe(h prometheus.Observer, ns *int64) {
	if ns != nil {
		h.Observe(seconds(*ns))
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
