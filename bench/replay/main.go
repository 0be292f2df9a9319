// Command replay prints how many requests a second the replay gets through, with native policies: the cost of the
// scheduler, the simulated device and the decision log, on one core. Trace and device say how much work a request is.
//
//	go run ./bench/replay --trace examples/traces/burst.csv --sim cpu-smollm2
//
// It runs the trace --runs times and prints each; the median counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/replay"
	"github.com/sluice-dev/sluice/host/trace"
)

func main() {
	path := flag.String("trace", "examples/traces/burst.csv", "trace `file`, in any format that Sluice reads")
	device := flag.String("sim", sim.CPUProfile, "simulated `device`")
	runs := flag.Int("runs", 3, "number of runs")
	flag.Parse()
	if err := bench(*path, *device, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench/replay:", err)
		os.Exit(1)
	}
}

func bench(path, device string, runs int) error {
	loaded, err := trace.LoadFile(path, trace.Options{})
	if err != nil {
		return err
	}
	profile, err := sim.ParseProfile(device)
	if err != nil {
		return err
	}
	if runs < 1 {
		return fmt.Errorf("--runs is %d, must be at least 1", runs)
	}
	fmt.Printf("%s: %d requests, %s on %s, %s\n", path, len(loaded.Records), loaded.Format, profile.Name, runtime.Version())
	var rates []float64
	for i := range runs {
		start := time.Now()
		r, err := replay.Run(context.Background(), replay.Input{Records: loaded.Records, Sim: profile, Seed: 1})
		if err != nil {
			return err
		}
		took := time.Since(start).Seconds()
		perSecond := float64(r.Requests()) / took
		rates = append(rates, perSecond)
		fmt.Printf("run %d: %.0f requests/s, %.0f steps/s, %.0f times as fast as real time\n",
			i+1, perSecond, float64(r.Stats.Steps)/took, float64(r.Makespan)/1e9/took)
	}
	slices.Sort(rates)
	fmt.Printf("median: %.0f requests/s\n", rates[len(rates)/2])
	return nil
}
