package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/author/bench"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/spf13/cobra"
)

func newPolicyBench(t terminal) *cobra.Command {
	var opt bench.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bench FILE [KEY=VALUE...]",
		Short: "Measure what a module's hooks cost, beside the server's own default",
		Long: `Bench asks every hook of a module about queues of several lengths, in the server's own policy host, copies and checks
included. Longer queues than one call sees take several calls. NS is the median for the whole queue on this machine, NATIVE_NS what
the server's own default takes for the same; FUEL is the same on every machine.`,
		Example: "  sluice policy bench mine.wasm\n  sluice policy bench mine.wasm max_age=2s --json",
		Args:    takesModule,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := readCandidate(args)
			if err != nil {
				return err
			}
			if opt.Time <= 0 || opt.Time > time.Minute {
				return usageErrorf("--time must be more than 0 and at most 1m")
			}
			return withBox(func(box *sandbox.Box) error {
				figures, err := bench.Run(cmd.Context(), box, c.name, c.wasm, c.config, opt)
				if err != nil {
					return refusedIsInput(err)
				}
				if asJSON {
					return printJSON(t.out, figures)
				}
				return printFigures(t, figures)
			})
		},
	}
	cmd.Flags().DurationVar(&opt.Time, "time", 200*time.Millisecond, "how long to measure each figure")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printFigures(t terminal, figures []bench.Figure) error {
	var rows [][]string
	for _, f := range figures {
		rows = append(rows, []string{
			f.Hook, strconv.Itoa(f.Rows), strconv.Itoa(f.Calls), strconv.FormatInt(f.NS, 10), strconv.FormatInt(f.NativeNS, 10),
			strconv.FormatUint(f.Fuel, 10), fmt.Sprintf("%.1f", f.Allocs), strconv.FormatUint(f.MemoryGrown, 10), strconv.FormatUint(f.Faults, 10),
		})
	}
	return printTable(t.out, []string{"HOOK", "ROWS", "CALLS", "NS", "NATIVE_NS", "FUEL", "ALLOCS", "GROWN", "FAULTS"}, rows)
}
