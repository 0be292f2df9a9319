package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/host/admin"
	"github.com/spf13/cobra"
)

func newConfig(t terminal) *cobra.Command {
	var addr string
	cmd := group("config", "Check and show configurations, and have a running server take one over",
		newConfigCheck(t), newConfigShow(t, &addr), newConfigReload(t, &addr))
	adminFlag(cmd, &addr)
	return cmd
}

func newConfigCheck(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Tell whether a server would start with a file",
		Long: `Check reads a file as serve does, with the environment's variables over it, and reports the first value that
cannot work, with its line. Files and addresses that it names are not looked at.`,
		Example: "  sluice config check sluice.yaml",
		Args:    takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := config.Load(args[0], t.env, nil)
			if err != nil {
				return usageError{err}
			}
			if asJSON {
				return printJSON(t.out, admin.ConfigValues{Settings: cfg.Settings()})
			}
			_, err = fmt.Fprintf(t.out, "%s is well\n", args[0])
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newConfigShow(t terminal, addr *string) *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show each value with where it comes from: a running server's, or a file's",
		Example: `  sluice config show
  sluice config show --config sluice.yaml`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			shown, err := configValues(cmd, t, *addr, file)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, shown)
			}
			rows := make([][]string, len(shown.Settings))
			for i, s := range shown.Settings {
				rows[i] = []string{s.Key, s.Value, s.Origin}
			}
			return printTable(t.out, []string{"KEY", "VALUE", "FROM"}, rows)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "show what this file means, with the environment over it, and ask no server")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func configValues(cmd *cobra.Command, t terminal, addr, file string) (v admin.ConfigValues, err error) {
	if file != "" {
		cfg, err := config.Load(file, t.env, nil)
		if err != nil {
			return v, usageError{err}
		}
		return admin.ConfigValues{Settings: cfg.Settings()}, nil
	}
	c, err := newClient(t, addr)
	if err != nil {
		return v, err
	}
	return v, c.json(cmd.Context(), call{method: http.MethodGet, path: "/v1/config"}, &v)
}

func newConfigReload(t terminal, addr *string) *cobra.Command {
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have a running server read its configuration again",
		Long: `Reload has the server read the file, the environment and the flags that it was started with. What can change
while it runs is changed at once: objectives and queue times of classes, the queue's limits, the prompt tokens of a
step, ageing, statuses of refusals, times of streams and of the drain, the log's level. The rest is listed: it needs
a restart. A configuration that is wrong changes nothing. SIGHUP does the same.`,
		Example: `  sluice config reload --dry-run
  sluice config reload`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			query := url.Values{}
			if dryRun {
				query.Set("dry_run", "1")
			}
			var done admin.Reload
			if err := c.json(cmd.Context(), call{method: http.MethodPost, path: "/v1/config/reload", query: query}, &done); err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, done)
			}
			return printReload(t, &done)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would change, and change nothing")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printReload(t terminal, done *admin.Reload) error {
	verb := "changed"
	if done.DryRun {
		verb = "would change"
	}
	var rows [][]string
	for _, part := range []struct {
		what    string
		changes []admin.Change
	}{{verb, done.Changed}, {"needs a restart", done.NeedsRestart}} {
		for _, c := range part.changes {
			rows = append(rows, []string{part.what, c.Key, c.From, c.To})
		}
	}
	if rows == nil {
		_, err := fmt.Fprintln(t.out, "nothing is different")
		return err
	}
	return printTable(t.out, []string{"WHAT", "KEY", "FROM", "TO"}, rows)
}
