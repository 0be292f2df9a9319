// Package metrics is the Prometheus page of a server: Sluice's own names (sluice_*), and with the same meaning the names
// that dashboards of vLLM read (vllm:*).
//
// It measures nothing itself: every figure comes from a request's trace record, from the scheduler's own counters at
// the moment of the scrape, or from the HTTP server. What is not known is left out rather than shown as 0.
//
//	m := metrics.New(metrics.Options{Model: "smollm2", Classes: []string{"interactive", "batch"}, Source: sample})
//	cfg.Record = func(r trace.Record) { m.ObserveRecord(&r) }
//	page, err := m.Text()
//
// All labels are bounded: classes, outcomes, reasons, hooks and routes come from fixed lists, and a value outside of its
// list is counted as "other". Tenants never are a label.
package metrics
