package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/spf13/cobra"
)

func newSafeMode(t terminal, addr *string) *cobra.Command {
	cmd := group("safe-mode", "Have the host's own defaults decide in the place of all policies, or end that",
		safeSwitch(t, addr, "on", "From the next step on no policy is asked; all stay loaded", "latency alarm", true),
		safeSwitch(t, addr, "off", "Let the policies decide again", "latency is back to normal", false))
	cmd.Example = "  sluice policy safe-mode on --why 'latency alarm'\n  sluice policy safe-mode off"
	return cmd
}

func safeSwitch(t terminal, addr *string, use, short, why string, on bool) *cobra.Command {
	f := &changeFlags{}
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Example: "  sluice policy safe-mode " + use + " --why '" + why + "'",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			body, err := json.Marshal(admin.SafeModeRequest{On: &on, Why: f.why})
			if err != nil {
				return fmt.Errorf("encode request: %w", err)
			}
			var now admin.SafeMode
			r := f.call(http.MethodPut, "/v1/safe-mode")
			r.query, r.kind, r.body = nil, "application/json", body // which has the reason
			if err := c.json(cmd.Context(), r, &now); err != nil {
				return err
			}
			if f.asJSON {
				return printJSON(t.out, now)
			}
			_, err = fmt.Fprintf(t.out, "safe mode is %s, revision %d\n", use, now.Revision)
			return err
		},
	}
	f.add(cmd)
	return cmd
}
