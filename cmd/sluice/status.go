package main

import (
	"context"
	"time"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// status is what the admin API shows of the running server.
func (p *parts) status(ctx context.Context, serving string) (admin.Status, error) {
	snap, err := p.engine.Snapshot(ctx)
	if err != nil {
		return admin.Status{}, err
	}
	info, stored := p.device.Info(), p.traces.Stats()
	return admin.Status{
		Version: buildInfo().Version, State: abi.HostState(snap.State.HostState).String(), Started: p.started, Serving: serving,
		Model:    admin.Model{ID: info.Model, Path: info.ModelPath, Context: info.ContextTokens},
		Device:   admin.Device{ID: info.Device, Name: info.DeviceName, Warnings: info.Warnings},
		Requests: requestsOf(snap),
		KV:       admin.KV{Total: int(snap.State.BlocksTotal), Free: int(snap.State.BlocksFree)},
		Epoch:    snap.State.PolicyEpoch,
		Traces: admin.Stored{
			Path: p.cfg.Data, Stored: stored.Stored, Waiting: stored.Waiting, Dropped: stored.Dropped,
			Quarantined: stored.Quarantined, DiskFull: stored.DiskFull,
		},
	}, nil
}

func requestsOf(snap engine.Snapshot) admin.Requests {
	s := snap.Stats
	r := admin.Requests{
		Waiting: int(snap.State.WaitingRequests), Running: int(snap.State.Running), Arrived: s.Arrived,
		Steps: s.Steps, Drafted: s.Drafted, Accepted: s.Accepted, Outcomes: map[string]uint64{},
	}
	for _, o := range sched.Outcomes() {
		r.Outcomes[o.String()] = s.Ended[o]
	}
	return r
}

// wall turns a reading of the engine's clock, which is the policy host's too, into time of day.
func (p *parts) wall(at int64) time.Time {
	return time.Now().Add(time.Duration(at - p.engine.Now()))
}
