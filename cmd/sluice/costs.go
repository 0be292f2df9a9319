package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/gpu/measure"
	"github.com/sluice-dev/sluice/gpu/sim"
)

// openCosts finds out what the device's steps cost. A server can do without: it then learns from the steps that it takes, and
// preempts by recompute.
func (p *parts) openCosts(ctx context.Context) error {
	switch dev := p.device.(type) {
	case *sim.Device:
		p.costs = dev.Costs()
	case *llama.Device:
		if p.cfg.Compute.Measure == config.MeasureOff {
			return nil
		}
		report, source, err := p.stepTimes(ctx, dev, measure.Options{Drafter: p.drafter})
		if err != nil {
			return err
		}
		p.costs = report.Costs
		p.log.Info("step times", "source", source, "measuring_took_ms", report.TookNS/1e6, "step_ms", float64(report.Costs.Step[0][0]/1e4)/100,
			"sequences", report.Largest, "tokens_per_s", int(report.DecodePerSecond(report.Largest)), "prompt_tokens_per_s", int(report.PrefillPerSecond()))
	}
	return nil
}

// stepTimes gives what is kept of the device, or measures it and keeps that, if there is a folder to keep it in. source is "kept" or
// "measured".
func (p *parts) stepTimes(ctx context.Context, dev *llama.Device, o measure.Options) (report measure.Report, source string, err error) {
	store, noStore := costStore()
	if p.cfg.Compute.Measure == config.MeasureAuto && noStore == nil {
		report, err = store.Load(dev.Setup())
		if err == nil {
			return report, "kept", nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			p.log.Warn("kept step times are not used", "error", err)
		}
	}
	p.log.Info("measuring step times, once for this model and device", "for", orDefault(o.Limit, measure.DefaultLimit).Round(time.Second).String())
	if report, err = measure.Run(ctx, dev, o); err != nil {
		return report, "", err
	}
	switch err = noStore; {
	case err != nil:
	case report.Disturbed():
		err = errors.New("something else kept the machine busy")
	default:
		err = store.Save(dev.Setup(), report)
	}
	if err != nil {
		p.log.Warn("step times are measured again at the next start", "error", err)
	}
	return report, "measured", nil
}

// costStore is where step times are kept: costs in the cache folder.
func costStore() (measure.Store, error) {
	dir, err := llama.CacheDir()
	return measure.Store{Dir: filepath.Join(dir, "costs")}, err
}
