package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/spf13/cobra"
)

func newPolicy(t terminal) *cobra.Command {
	var addr string
	cmd := group("policy", "List and change the policies of a running server",
		newPolicyList(t, &addr), newPolicyPush(t, &addr), newPolicyRollback(t, &addr), newPolicyRemove(t, &addr),
		newPolicyDisable(t, &addr), newPolicyEnable(t, &addr),
		newPolicyShadow(t, &addr), newPolicyCompare(t, &addr), newPolicyPromote(t, &addr), newPolicyDrop(t, &addr),
		newPolicyHistory(t, &addr), newSafeMode(t, &addr), newPolicyKeygen(t), newPolicySign(t))
	adminFlag(cmd, &addr)
	return cmd
}

func newPolicyList(t terminal, addr *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the policies in the order in which they are asked",
		Example: "  sluice policy ls --json",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			var list admin.PolicyList
			if err := c.json(cmd.Context(), call{method: http.MethodGet, path: policiesPath}, &list); err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, list)
			}
			return printPolicies(t, &list)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printPolicies(t terminal, list *admin.PolicyList) error {
	if list.SafeMode {
		fmt.Fprintln(t.err, "sluice: safe mode is on: the host's own defaults decide; 'sluice policy safe-mode off' ends it")
	}
	var rows [][]string
	now := time.Now()
	for i := range list.Policies {
		p := &list.Policies[i]
		rows = append(rows, policyRow(p, now))
		if p.Fallen != nil {
			rows = append(rows, policyRow(p.Fallen, now))
		}
	}
	return printTable(t.out, []string{"NAME", "DIGEST", "VERSION", "STATE", "HOOKS", "SINCE", "AGE", "CALLS", "FALLBACKS", "PREVIOUS", "SHADOW"}, rows)
}

func policyRow(p *admin.Policy, now time.Time) []string {
	calls, fallbacks := p.Totals()
	shadow := ""
	if p.Shadow != nil {
		shadow = short(p.Shadow.Digest)
	}
	return []string{
		p.Name, short(p.Digest), strconv.Itoa(p.Version), string(p.State), strings.Join(deciding(p.Hooks), ","), moment(p.Since), ago(p.Since, now),
		strconv.FormatUint(calls, 10), strconv.FormatUint(fallbacks, 10), short(p.Previous), shadow,
	}
}

const policiesPath = "/v1/policies"

func policyPath(name, action string) string {
	path := policiesPath + "/" + url.PathEscape(name)
	if action != "" {
		path += "/" + action
	}
	return path
}
