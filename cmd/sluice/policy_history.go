package main

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/sluice-dev/sluice/plugins/store"
	"github.com/spf13/cobra"
)

func newPolicyHistory(t terminal, addr *string) *cobra.Command {
	var limit int
	var before uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "List the changes of the policies, the newest first",
		Example: "  sluice policy history --limit 5",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > admin.MaxHistory {
				return usageErrorf("--limit must be between 1 and %d, but is %d", admin.MaxHistory, limit)
			}
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			if before > 0 {
				query.Set("before", strconv.FormatUint(before, 10))
			}
			var h admin.History
			if err := c.json(cmd.Context(), call{method: http.MethodGet, path: policiesPath + "/history", query: query}, &h); err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, h)
			}
			return printHistory(t, &h)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "how many")
	cmd.Flags().Uint64Var(&before, "before", 0, "only entries before this `SEQ`")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printHistory(t terminal, h *admin.History) error {
	var rows [][]string
	now := time.Now()
	for i := range h.Entries {
		e := &h.Entries[i]
		what := string(e.Op)
		if e.Refused != "" {
			what += " (refused)"
		}
		rows = append(rows, []string{
			count(e.Seq), count(e.Revision), moment(e.At), ago(e.At, now), what, e.Name, short(e.Digest), settingsText(e.Config), e.Who, oneLine(because(e)),
		})
	}
	return printTable(t.out, []string{"SEQ", "REVISION", "TIME", "AGE", "CHANGE", "NAME", "DIGEST", "SETTINGS", "WHO", "WHY"}, rows)
}

// because is the reason that was given for a change, and why it was refused.
func because(e *store.Entry) string {
	if e.Why == "" || e.Refused == "" {
		return e.Why + e.Refused
	}
	return e.Why + "; refused: " + e.Refused
}

// settingsText writes settings as a command line takes them.
func settingsText(set map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		parts = append(parts, key+"="+oneLine(set[key]))
	}
	return strings.Join(parts, ",")
}

// oneLine keeps what others wrote from breaking a table, or a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
