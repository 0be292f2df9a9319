package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/author/check"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/spf13/cobra"
)

func newPolicyCheck(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE [KEY=VALUE...]",
		Short: "Say whether a server would take a module, and what it uses",
		Long: `Check does all that a push does before a policy decides: the module's encoding, its imports and exports, the version
of the ABI, its limits, its start, its configuration, and every hook on an idle, a busy and a full server. It warns of what
a server would take and an author should know.`,
		Example: "  sluice policy check mine.wasm\n  sluice policy check mine.wasm max_age=2s --json",
		Args:    takesModule,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := readCandidate(args)
			if err != nil {
				return err
			}
			return withBox(func(box *sandbox.Box) error {
				r, err := check.Module(cmd.Context(), box, c.name, c.wasm, c.config)
				if err != nil {
					return usageError{err}
				}
				if asJSON {
					err = printJSON(t.out, r)
				} else {
					err = printCheck(t, r)
				}
				if err != nil {
					return err
				}
				return verdict(r)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// verdict is the error of a module that is refused.
func verdict(r *check.Result) error {
	if r.OK {
		return nil
	}
	return usageError{fmt.Errorf("policy %s@%s refused at %s: %w", r.Name, short(r.Digest), r.Stage, errors.New(r.Error))}
}

func printCheck(t terminal, r *check.Result) error {
	p := &r.Report
	pairs := [][2]string{
		{"digest", r.Digest}, {"bytes", strconv.Itoa(r.Bytes)}, {"language", r.Language},
		{"hooks", strings.Join(p.Hooks, ", ")}, {"reads", strings.Join(p.Reads, ", ")},
		{"settings", strings.Join(r.Settings, ", ")},
	}
	if p.PageLimit > 0 {
		pairs = append(pairs, [2]string{"memory", fmt.Sprintf("%d of %d pages of 64 KiB", p.Pages, p.PageLimit)})
	}
	if p.LoadLimit > 0 && p.StartFuel > 0 {
		pairs = append(pairs, [2]string{"start", fmt.Sprintf("%d of %d units of fuel", p.StartFuel, p.LoadLimit)})
	}
	for _, h := range r.Hooks {
		pairs = append(pairs, [2]string{h.Hook, fmt.Sprintf("%d of %d units of fuel on %d rows (%.1f %%)", h.Fuel, h.Budget, h.Rows, h.Percent)})
	}
	pairs = append(pairs, [2]string{"recursion", r.Recursion.Unknown})
	if err := printPairs(t.out, pairs); err != nil {
		return err
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(t.out, "warning: %s\n", w)
	}
	if r.OK {
		fmt.Fprintln(t.out, "ok: a server takes it")
	}
	return nil
}
