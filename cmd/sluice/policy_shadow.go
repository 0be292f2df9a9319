package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/spf13/cobra"
)

func newPolicyShadow(t terminal, addr *string) *cobra.Command {
	f := &pushFlags{}
	cmd := &cobra.Command{
		Use:   "shadow FILE",
		Short: "Put a candidate beside the policy with its name: it is asked the same, and never obeyed",
		Long: `Shadow checks the module as push does. From the next step on it sees the same calls as the policy of its
name; its answers are counted and compared, which 'sluice policy compare' shows, and never obeyed. Where no
policy has that name, it stands alone at the end of the chain.`,
		Example: `  sluice policy shadow queue-age.wasm --set max_age=1s
  sluice policy compare queue-age
  sluice policy promote queue-age`,
		Args: takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.call(args[0], "shadow")
			if err != nil {
				return usageError{err}
			}
			return f.attach(cmd, t, *addr, r)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *pushFlags) attach(cmd *cobra.Command, t terminal, addr string, r call) error {
	c, err := newClient(t, addr)
	if err != nil {
		return err
	}
	p, err := c.change(cmd.Context(), r)
	if err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(t.out, p)
	}
	digest := ""
	if p.Shadow != nil {
		digest = p.Shadow.Digest
	}
	_, err = fmt.Fprintf(t.out, "%s@%s shadows %s, revision %d\n", p.Name, short(digest), p.Name, p.Revision)
	return err
}

func newPolicyCompare(t terminal, addr *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "compare NAME",
		Short:   "Show how the answers of a policy's shadow compare with its own",
		Example: "  sluice policy compare queue-age",
		Args:    takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			var s admin.Shadow
			if err := c.json(cmd.Context(), call{method: http.MethodGet, path: policyPath(args[0], "shadow")}, &s); err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, s)
			}
			return printShadow(t, &s)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printShadow(t terminal, s *admin.Shadow) error {
	now := time.Now()
	if err := printPairs(t.out, [][2]string{
		{"shadow", short(s.Digest)}, {"since", since(s.Since, now)}, {"dropped", s.Dropped},
	}); err != nil {
		return err
	}
	var rows [][]string
	for _, h := range s.Hooks {
		var faults uint64
		for _, n := range h.Fallbacks {
			faults += n
		}
		rows = append(rows, []string{
			h.Hook, count(h.Calls), count(h.Agree), count(h.Differ), count(faults), counts(h.Would),
		})
	}
	fmt.Fprintln(t.out)
	if err := printTable(t.out, []string{"HOOK", "CALLS", "AGREE", "DIFFER", "FAULTS", "WOULD"}, rows); err != nil {
		return err
	}
	if len(s.Differences) == 0 {
		return nil
	}
	rows = nil
	for _, d := range s.Differences {
		rows = append(rows, []string{moment(d.Time), ago(d.Time, now), d.Hook, count(d.Step), positive(d.Request), d.Active, d.Shadow})
	}
	fmt.Fprintln(t.out)
	return printTable(t.out, []string{"TIME", "AGE", "HOOK", "STEP", "REQUEST", "POLICY", "SHADOW"}, rows)
}

func count(n uint64) string { return strconv.FormatUint(n, 10) }

// positive is "" for 0, which stands for none.
func positive(n uint64) string {
	if n == 0 {
		return ""
	}
	return count(n)
}

// counts lists what is above 0, by name.
func counts(all map[string]uint64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if n := all[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", name, n))
		}
	}
	return strings.Join(parts, " ")
}
