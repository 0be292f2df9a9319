package main

import (
	"context"
	"fmt"
	"log/slog"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/gpu/measure"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/spf13/cobra"
)

// deviceKeys are the keys that step times depend on and that have a flag.
func deviceKey(key string) bool {
	return slices.Contains([]string{"model", "llama_lib", "device", "speculate.drafter", "speculate.model"}, key) ||
		strings.HasPrefix(key, "compute.") && key != "compute.measure"
}

func newMeasure(t terminal) *cobra.Command {
	var path string
	var limit time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "measure",
		Short: "Show what a step costs, by sequences and drafts",
		Long: `Measure runs steps of the model on the device and prints how long they take: by the number of sequences, and by
the drafts that each of them verifies. sluice serve plans with this table; it is kept, so that the next start
with the same model, device and settings does not measure again. Give the flags or the file that serve is given.`,
		Example: "  sluice model measure\n  sluice model measure --model m.gguf --device cuda --limit 30s --json",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := map[string]string{"compute.measure": config.MeasureFresh}
			for _, v := range valueFlags {
				if deviceKey(v.key) && cmd.Flags().Changed(v.flag) {
					flags[v.key], _ = cmd.Flags().GetString(v.flag) // it was defined as a string
				}
			}
			if limit <= 0 {
				return usageErrorf("--limit must be positive, but is %s", limit)
			}
			cfg, err := config.Load(orDefault(path, t.getenv("SLUICE_CONFIG")), t.env, flags)
			if err != nil {
				return usageError{err}
			}
			return measureModel(cmd.Context(), t, cfg, limit, asJSON)
		},
	}
	p := cmd.Flags()
	p.StringVar(&path, "config", "", "configuration file, YAML (default $SLUICE_CONFIG)")
	for _, v := range valueFlags {
		if deviceKey(v.key) {
			p.String(v.flag, "", v.usage)
		}
	}
	p.DurationVar(&limit, "limit", 2*measure.DefaultLimit, "when to stop; what did not get its turn is shown as -")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func measureModel(ctx context.Context, t terminal, cfg *config.Config, limit time.Duration, asJSON bool) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p := &parts{cfg: cfg, log: slog.New(slog.DiscardHandler)}
	defer func() {
		if closed := p.closers.close(); err == nil {
			err = closed
		}
	}()
	if err := p.openDevice(); err != nil {
		return usageError{err}
	}
	var report measure.Report
	switch dev := p.device.(type) {
	case *sim.Device:
		report = measure.Report{Costs: dev.Costs(), Largest: dev.Info().MaxSeqs}
	case *llama.Device:
		fmt.Fprintf(t.err, "measuring for %s\n", limit)
		if report, _, err = p.stepTimes(ctx, dev, measure.Options{Drafter: p.drafter, Limit: limit}); err != nil {
			return err
		}
	}
	if asJSON {
		return printJSON(t.out, costsJSON(p.device.Info(), &report))
	}
	return printCosts(t, p.device.Info(), &report)
}

// costsOutput is what --json prints. Times are ns; 0 is what was not measured.
type costsOutput struct {
	Model        string     `json:"model"`
	Device       string     `json:"device"`
	Steps        []costsRow `json:"steps"`
	PrefillToken int64      `json:"prefill_token_ns"`
	PrefillFar   int64      `json:"prefill_far_ns"`      // more for each 1,024 tokens before it
	PrefillWide  int64      `json:"prefill_far_wide_ns"` // the same in a step of WideRows and more; 0 = it is the same
	WideRows     int        `json:"wide_rows"`
	DraftToken   int64      `json:"draft_token_ns"`
	SaveToken    int64      `json:"save_token_ns"`
	HeldToken    int64      `json:"held_token_ns"`
	Copy         int64      `json:"copy_ns"`
	Took         int64      `json:"took_ns"`
}

type costsRow struct {
	Sequences int                   `json:"sequences"`
	NS        [measure.Drafts]int64 `json:"ns"`      // by drafts a sequence
	Samples   [measure.Drafts]int   `json:"samples"` // 0 = computed from those beside it
}

func costsJSON(info gpu.Info, r *measure.Report) costsOutput {
	c := &r.Costs
	out := costsOutput{Model: info.Model, Device: info.DeviceName, PrefillToken: c.PrefillToken, PrefillFar: c.PrefillFar, PrefillWide: c.PrefillFarWide, WideRows: c.WideRows,
		DraftToken: c.DraftToken, SaveToken: c.SaveToken, HeldToken: c.HeldToken, Copy: c.Copy, Took: r.TookNS, Steps: []costsRow{}}
	for b := range measured(r) {
		out.Steps = append(out.Steps, costsRow{min(1<<b, r.Largest), c.Step[b], r.Samples[b]})
	}
	return out
}

// measured is the number of buckets that have costs.
func measured(r *measure.Report) int {
	n := 0
	for n < measure.Buckets && r.Costs.Step[n][0] > 0 {
		n++
	}
	return n
}

func printCosts(t terminal, info gpu.Info, r *measure.Report) error {
	fmt.Fprintf(t.out, "%s on %s: time of a step in ms, by drafts a sequence\n", info.Model, info.DeviceName)
	headers := []string{"SEQUENCES"}
	shown := measure.MeasuredDrafts()
	for _, k := range shown {
		headers = append(headers, strconv.Itoa(k))
	}
	var rows [][]string
	for b := range measured(r) {
		seqs := min(1<<b, r.Largest)
		row := []string{strconv.Itoa(seqs)}
		for _, k := range shown {
			row = append(row, milliseconds(r.Costs.Step[b][k]))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.0f", r.DecodePerSecond(seqs))))
	}
	if err := printTable(t.out, append(headers, "TOKENS/S"), rows); err != nil {
		return err
	}
	pairs := [][2]string{
		{"a prompt token", costText(r.Costs.PrefillToken, fmt.Sprintf(" (%.0f a second)", r.PrefillPerSecond()))},
		{"the same with 1,024 before it", farText(&r.Costs)},
		{"a draft by the drafter", costText(r.Costs.DraftToken, "")},
		{"a copied prefix", costText(r.Costs.Copy, "")},
		{"a token saved and restored", costText(r.Costs.SaveToken, "")},
		{"a token held, for each row", costText(r.Costs.HeldToken, "")},
	}
	if r.Disturbed() {
		pairs = append(pairs, [2]string{"something else", "kept the machine busy: measure again when it is idle"})
	}
	if r.Samples[0][0] > 0 {
		pairs = append(pairs, [2]string{"drafts between those shown", "are taken to lie on a line between them"})
	}
	return printPairs(t.out, pairs)
}

// farText is what distance costs a prompt token.
func farText(c *gpu.Costs) string {
	var parts []string
	if c.PrefillFar > 0 {
		parts = append(parts, costText(c.PrefillFar, " more"))
	}
	if c.PrefillFarWide > 0 {
		parts = append(parts, costText(c.PrefillFarWide, fmt.Sprintf(" more in a step of %d tokens and more", c.WideRows)))
	}
	return strings.Join(parts, "; ")
}

func milliseconds(ns int64) string {
	if ns == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(ns)/1e6, 'f', 1+min(2, max(0, 2-len(strconv.FormatInt(ns/1e6, 10)))), 64)
}

// costText writes a cost with its unit; "" when there is none.
func costText(ns int64, more string) string {
	if ns == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f us%s", float64(ns)/1e3, more)
}
