package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// ContentType is the format of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// other is the label value of what is in no list.
const other = "other"

// ErrNoSample is what a Source returns when there is no engine to ask, for instance during shutdown.
var ErrNoSample = errors.New("the engine does not answer")

// Sample is what a scrape sees of the engine, the policies and the trace store.
type Sample struct {
	State    abi.State
	Stats    sched.Stats
	Policies []Policy
	Traces   *Traces       // nil = no store
	Faults   engine.Faults // of the device
}

// Policy is one policy of the chain. Its counters may begin again with each version.
type Policy struct {
	Name        string
	Digest      string // sha256 of the module, hex
	Quarantined bool
	Idle        bool // it does not decide, and is not quarantined: disabled, or in safe mode
	Hooks       []Hook
}

// Hook is what one policy did at one hook.
type Hook struct {
	Name      string
	Calls     uint64
	Abstains  uint64
	Fallbacks map[string]uint64 // by reason
}

// Traces is what became of the records.
type Traces struct {
	Written uint64
	Dropped map[string]uint64 // by reason
}

// Options of New.
type Options struct {
	Model   string                 // the label model_name of the vllm:* names
	Classes []string               // names by class index
	Source  func() (Sample, error) // asked at each scrape, from any goroutine; nil = request figures only
	Runtime bool                   // also show the Go runtime's and the process's own figures
}

// Metrics is the registry. All methods may be called from any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	classes  []string
	requests requestMetrics
	vllm     vllmMetrics
	http     httpMetrics
}

// New makes an empty page.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), classes: slices.Clone(o.Classes)}
	m.requests = newRequestMetrics(m.registry)
	m.vllm = newVLLMMetrics(prometheus.WrapRegistererWith(modelLabels(o.Model), m.registry))
	m.http = newHTTPMetrics(m.registry)
	if o.Source != nil {
		m.registry.MustRegister(newCollector(o.Source, o.Model, m.classes))
	}
	if o.Runtime {
		registerRuntime(m.registry)
	}
	m.zero()
	return m
}

// zero makes the series of every class and outcome exist, so that a rate over the first of its kind is seen.
func (m *Metrics) zero() {
	for _, class := range m.classes {
		for _, o := range sched.Outcomes() {
			m.requests.total.WithLabelValues(class, o.String())
		}
	}
	for _, reason := range []string{"stop", "length", "abort", "error"} {
		m.vllm.success.WithLabelValues(reason)
	}
}

func (m *Metrics) class(name string) string {
	if slices.Contains(m.classes, name) {
		return name
	}
	return other
}

// Text is the page in the classic text format. An error means that part of the page is missing; the rest is still valid.
func (m *Metrics) Text() ([]byte, error) {
	families, gatherErr := m.registry.Gather()
	var buf bytes.Buffer
	enc := expfmt.NewEncoder(&buf, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return nil, fmt.Errorf("write metrics: %w", err)
		}
	}
	if gatherErr != nil {
		return buf.Bytes(), fmt.Errorf("gather metrics: %w", gatherErr)
	}
	return buf.Bytes(), nil
}

// Handler serves the page on net/http, for the admin listener.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}
