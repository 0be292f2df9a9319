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
	s := metrics.Sample{State: snap.State, Stats: snap.Stats, Faults: snap.Faults}
	s.Policies = policySamples(p.policies.List())
	stored := p.traces.Stats()
	s.Traces = &metrics.Traces{Written: stored.Stored, Dropped: stored.Dropped}
	return s, nil
}

// policySamples has a policy that fell beside the one in its place: what led to a quarantine must outlive it, or no scrape
// sees it.
func policySamples(all []plugins.PolicyInfo) []metrics.Policy {
	var out []metrics.Policy
	for i := range all {
		info, fallen := &all[i], all[i].Fallen
		if info.State == plugins.StateShadow { // it never decided
			continue
		}
		if fallen == nil {
			out = append(out, policySample(info))
			continue
		}
		if fallen.Digest != info.Digest {
			out = append(out, policySample(info), policySample(fallen))
			continue
		}
		sum := policySample(info) // the same module under other settings: one series
		for j, h := range policySample(fallen).Hooks {
			sum.Hooks[j].Calls += h.Calls
			sum.Hooks[j].Abstains += h.Abstains
			for why, n := range h.Fallbacks {
				sum.Hooks[j].Fallbacks[why] += n
			}
		}
		out = append(out, sum)
	}
	return out
}

func policySample(info *plugins.PolicyInfo) metrics.Policy {
	m := metrics.Policy{Name: info.Name, Digest: info.Digest, Quarantined: info.State == plugins.StateQuarantined,
		Idle: info.State == plugins.StateDisabled || info.State == plugins.StateSuspended}
	for _, h := range info.Calls {
		m.Hooks = append(m.Hooks, metrics.Hook{Name: h.Hook, Calls: h.Calls, Abstains: h.Abstains, Fallbacks: h.Fallbacks})
	}
	return m
}
