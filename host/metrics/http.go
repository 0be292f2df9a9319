package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// httpMetrics are what only the HTTP server can see.
type httpMetrics struct {
	responses  *prometheus.CounterVec // route, status
	release    prometheus.Histogram
	firstWrite prometheus.Histogram
	brokenOff  prometheus.Counter
	panics     prometheus.Counter
}

func newHTTPMetrics(r prometheus.Registerer) httpMetrics {
	h := httpMetrics{
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_http_responses_total", Help: "Responses by route and status; 499 is a client that went away before there was one.",
		}, []string{"route", "status"}),
		release: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_slot_release_delay_seconds", Help: "Time from noticing that a client went away until everything that its request held was free.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
		firstWrite: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_first_write_seconds", Help: "Time from arrival until the first token of a stream was written to the socket.", Buckets: ttftBuckets,
		}),
		brokenOff: prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_streams_broken_off_total", Help: "Streams that ended with an error event after their first token."}),
		panics:    prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_http_panics_total", Help: "Requests whose handling panicked. Anything but 0 is a bug."}),
	}
	r.MustRegister(h.responses, h.release, h.firstWrite, h.brokenOff, h.panics)
	return h
}

// routes bounds the label: what a client may ask for is not.
var routes = []string{
	"/v1/chat/completions", "/v1/completions", "/v1/models", "/v1/models/*", "/tokenize", "/health", "/healthz", "/livez", "/readyz", "/metrics",
}

// Response counts an answer.
func (m *Metrics) Response(route string, status int) {
	if !slices.Contains(routes, route) {
		route = other
	}
	if status < 100 || status > 599 {
		status = 0
	}
	m.http.responses.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// SlotReleased takes in how long a gone client's request still held its place.
func (m *Metrics) SlotReleased(d time.Duration) { m.http.release.Observe(d.Seconds()) }

// FirstWrite takes in when a stream's first token was written, counted from its arrival.
func (m *Metrics) FirstWrite(d time.Duration) { m.http.firstWrite.Observe(d.Seconds()) }

// BrokenOff counts a stream that ended with an error event.
func (m *Metrics) BrokenOff() { m.http.brokenOff.Inc() }

// Panic counts a request whose handling panicked.
func (m *Metrics) Panic() { m.http.panics.Inc() }

func registerRuntime(r prometheus.Registerer) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
