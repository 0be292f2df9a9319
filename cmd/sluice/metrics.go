package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/host/metrics"
	"github.com/sluice-dev/sluice/plugins"
)

// sampleTimeout bounds how long a scrape waits for the engine, which answers between two of its actions.
const sampleTimeout = 2 * time.Second

// sample is what a scrape of the metrics page sees.
func (p *parts) sample() (metrics.Sample, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sampleTimeout)
	defer cancel()
	snap, err := p.engine.Snapshot(ctx)
	if err != nil {
		return metrics.Sample{}, fmt.Errorf("%w: %w", metrics.ErrNoSample, err)
	}
	s := metrics.Sample{State: snap.State, Stats: snap.Stats}
	for _, info := range p.policies.List() {
		s.Policies = append(s.Policies, policySample(info))
	}
	stored := p.traces.Stats()
	s.Traces = &metrics.Traces{Written: stored.Stored, Dropped: stored.Dropped}
	return s, nil
}

func policySample(info plugins.PolicyInfo) metrics.Policy {
	m := metrics.Policy{Name: info.Name, Digest: info.Digest, Quarantined: info.State == plugins.StateQuarantined}
	for _, h := range info.Calls {
		m.Hooks = append(m.Hooks, metrics.Hook{Name: h.Hook, Calls: h.Calls, Abstains: h.Abstains, Fallbacks: h.Fallbacks})
	}
	return m
}
