package metrics

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// collector reads a Sample at each scrape, so that every figure of one page is of one moment.
type collector struct {
	source  func() (Sample, error)
	classes []string
	own     map[string]*prometheus.Desc
	vllm    map[string]*prometheus.Desc
	out     chan<- prometheus.Metric // of the scrape that a copy of collector serves
}

func newCollector(source func() (Sample, error), model string, classes []string) *collector {
	c := &collector{source: source, classes: classes, own: map[string]*prometheus.Desc{}, vllm: map[string]*prometheus.Desc{}}
	for _, d := range ownDescs {
		c.own[d.name] = prometheus.NewDesc("sluice_"+d.name, d.help, d.labels, nil)
	}
	for _, d := range vllmDescs {
		c.vllm[d.name] = prometheus.NewDesc("vllm:"+d.name, d.help, d.labels, modelLabels(model))
	}
	return c
}

// Describe lists everything that a scrape may show.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, set := range []map[string]*prometheus.Desc{c.own, c.vllm} {
		for _, d := range set {
			out <- d
		}
	}
}

// Collect asks the source. When it does not answer, only engine_up is shown, as 0.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	scrape := *c
	scrape.out = out
	s, err := c.source()
	if err != nil {
		scrape.gauge("engine_up", 0)
		return
	}
	scrape.gauge("engine_up", 1)
	scrape.queue(&s.State)
	scrape.kv(&s.State)
	scrape.steps(&s.State, &s.Stats)
	scrape.speculation(&s.Stats)
	scrape.faults(&s.Faults)
	scrape.policies(s.Policies)
	if s.Traces != nil {
		scrape.traces(s.Traces)
	}
}

func (c *collector) gauge(name string, v float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(c.own[name], prometheus.GaugeValue, v, labels...)
}

func (c *collector) counter(name string, v uint64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(c.own[name], prometheus.CounterValue, float64(v), labels...)
}

func (c *collector) vllmGauge(name string, v float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(c.vllm[name], prometheus.GaugeValue, v, labels...)
}

func (c *collector) vllmCounter(name string, v uint64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(c.vllm[name], prometheus.CounterValue, float64(v), labels...)
}

func (c *collector) queue(s *abi.State) {
	for i, class := range c.classes[:min(len(c.classes), len(s.Classes))] {
		k := &s.Classes[i]
		c.gauge("running_requests", float64(k.Running), class)
		c.gauge("waiting_requests", float64(k.Waiting), class)
		c.gauge("oldest_wait_seconds", seconds(k.OldestWaitNS), class)
	}
	c.gauge("waiting_tokens", float64(s.WaitingTokens))
	c.gauge("preempted_waiting_requests", float64(s.PreemptedWaiting))
	c.gauge("draining", boolean(s.HostState == uint8(abi.HostStateDraining)))
	if s.Has(abi.StateHasEstimatedWaitNS) {
		c.gauge("estimated_wait_seconds", seconds(s.EstimatedWaitNS))
	}
	deferred := min(s.WaitingDeferred, s.WaitingRequests)
	c.vllmGauge("num_requests_running", float64(s.Running))
	c.vllmGauge("num_requests_waiting", float64(s.WaitingRequests))
	c.vllmGauge("num_requests_waiting_by_reason", float64(s.WaitingRequests-deferred), "capacity")
	c.vllmGauge("num_requests_waiting_by_reason", float64(deferred), "deferred")
}

func (c *collector) kv(s *abi.State) {
	c.gauge("kv_blocks", float64(s.BlocksFree-min(s.BlocksCached, s.BlocksFree)), "free")
	c.gauge("kv_blocks", float64(s.BlocksCached), "cached")
	c.gauge("kv_blocks", float64(s.BlocksTotal-s.BlocksFree), "used")
	if s.BlocksTotal > 0 {
		c.vllmGauge("kv_cache_usage_perc", 1-float64(s.BlocksFree)/float64(s.BlocksTotal))
	}
	c.vllmGauge("cache_config_info", 1, strconv.Itoa(int(s.BlockSize)), strconv.Itoa(int(s.BlocksTotal)))
}

func (c *collector) steps(s *abi.State, t *sched.Stats) {
	c.counter("steps_total", t.Steps)
	c.counter("arrivals_total", t.Arrived)
	c.counter("admissions_total", t.Admitted)
	c.counter("preemptions_total", t.Preemptions)
	c.counter("recomputed_tokens_total", t.RecomputedTokens)
	c.counter("computed_tokens_total", t.ComputedTokens)
	c.counter("kv_evicted_blocks_total", t.EvictedBlocks)
	c.counter("kv_saved_requests_total", t.Saves)
	c.counter("kv_restored_requests_total", t.Restores)
	c.counter("kv_restored_tokens_total", t.RestoredTokens)
	c.counter("kv_offloaded_tokens_total", t.OffloadedTokens)
	c.counter("kv_reloaded_tokens_total", t.ReloadedTokens)
	c.counter("prefill_tokens_total", t.PrefillTokens)
	c.counter("generated_tokens_total", t.OutputTokens)
	c.counter("forced_starts_total", t.Forced)
	c.counter("aged_starts_total", t.Aged)
	c.counter("rejecting_spans_total", t.Rejecting)
	c.counter("infeasible_requests_total", t.Infeasible)
	c.limits(t)
	c.counter("clamped_decisions_total", t.Clamped)
	c.gauge("policy_epoch", float64(s.PolicyEpoch))
	if s.Has(abi.StateHasDecodeStepP50NS | abi.StateHasDecodeStepP99NS) {
		c.gauge("decode_step_seconds", seconds(s.DecodeStepP50NS), "0.5")
		c.gauge("decode_step_seconds", seconds(s.DecodeStepP99NS), "0.99")
	}
	c.vllmCounter("num_preemptions_total", t.Preemptions)
	c.vllmCounter("generation_tokens_total", t.OutputTokens)
}

// limits leaves out those that never refused anybody.
func (c *collector) limits(t *sched.Stats) {
	for i, class := range c.classes[:min(len(c.classes), len(t.Refused))] {
		for j, limit := range sched.Limits() {
			if n := t.Refused[i].ByLimit[j]; n > 0 {
				c.counter("limit_refusals_total", n, class, limit)
			}
		}
	}
}

func (c *collector) speculation(t *sched.Stats) {
	c.vllmCounter("spec_decode_num_drafts_total", t.Drafts)
	c.vllmCounter("spec_decode_num_draft_tokens_total", t.Drafted)
	c.vllmCounter("spec_decode_num_accepted_tokens_total", t.Accepted)
	for i, n := range t.AcceptedAt {
		if t.DraftedAt[i] > 0 {
			c.vllmCounter("spec_decode_num_accepted_tokens_per_pos_total", n, strconv.Itoa(i))
		}
	}
}

func (c *collector) policies(all []Policy) {
	for i := range all {
		p := &all[i]
		c.gauge("policy_quarantined", boolean(p.Quarantined), p.Name, p.Digest)
		for _, h := range p.Hooks {
			c.gauge("policy_active_info", boolean(!p.Quarantined && !p.Idle), h.Name, p.Name, p.Digest)
			c.counter("policy_calls_total", h.Calls, h.Name, p.Name, p.Digest)
			c.counter("policy_abstains_total", h.Abstains, h.Name, p.Name, p.Digest)
			for _, why := range slices.Sorted(maps.Keys(h.Fallbacks)) {
				c.counter("policy_fallbacks_total", h.Fallbacks[why], h.Name, p.Name, p.Digest, why)
			}
		}
	}
}

func (c *collector) faults(f *engine.Faults) {
	c.counter("device_faults_total", f.Steps, "step")
	c.counter("device_faults_total", f.Stalls, "stall")
	c.counter("device_faults_total", f.Resets, "reset")
	c.counter("device_faults_total", f.Lost, "lost")
	c.counter("device_faults_total", f.KV, "kv")
}

func (c *collector) traces(t *Traces) {
	c.counter("trace_records_total", t.Written)
	for _, why := range slices.Sorted(maps.Keys(t.Dropped)) {
		c.counter("trace_dropped_total", t.Dropped[why], why)
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var _ prometheus.Collector = (*collector)(nil)
