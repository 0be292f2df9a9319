// Package costs measures what a device's steps cost, for the benchmarks that run an engine: a server has measured that before it serves.
package costs

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/gpu/measure"
)

// Measure takes a minute at most. An error says that it was not enough for as many sequences as the device has.
func Measure(dev *llama.Device) (gpu.Costs, error) {
	rep, err := measure.Run(context.Background(), dev, measure.Options{Limit: time.Minute})
	if err != nil {
		return gpu.Costs{}, fmt.Errorf("measure steps: %w", err)
	}
	if rep.Largest < dev.Info().MaxSeqs {
		return gpu.Costs{}, fmt.Errorf("measure steps: a minute was enough for %d sequences only; is the machine busy?", rep.Largest)
	}
	return rep.Costs, nil
}
