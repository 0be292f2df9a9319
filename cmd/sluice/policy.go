package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/host/admin"
	"github.com/spf13/cobra"
)

func newPolicy(t terminal) *cobra.Command {
	var addr string
	cmd := group("policy", "List, push and roll back the policies of a running server",
		newPolicyList(t, &addr), newPolicyPush(t, &addr), newPolicyRollback(t, &addr), newPolicyRemove(t, &addr))
	adminFlag(cmd, &addr)
	return cmd
}

func newPolicyList(t terminal, addr *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the policies in the order in which they are asked",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			var list admin.PolicyList
			if err := c.json(cmd.Context(), http.MethodGet, "/v1/policies", nil, nil, &list); err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, list.Policies)
			}
			return printPolicies(t, list.Policies)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printPolicies(t terminal, policies []admin.Policy) error {
	var rows [][]string
	for i := range policies {
		rows = append(rows, policyRow(&policies[i]))
		if f := policies[i].Fallen; f != nil {
			rows = append(rows, policyRow(&admin.Policy{PolicyInfo: *f}))
		}
	}
	return printTable(t.out, []string{"NAME", "DIGEST", "VERSION", "STATE", "HOOKS", "AGE", "CALLS", "FALLBACKS", "PREVIOUS"}, rows)
}

func policyRow(p *admin.Policy) []string {
	calls, fallbacks := p.Totals()
	return []string{
		p.Name, short(p.Digest), strconv.Itoa(p.Version), string(p.State), strings.Join(p.Hooks, ","), ago(p.Since, time.Now()),
		strconv.FormatUint(calls, 10), strconv.FormatUint(fallbacks, 10), short(p.Previous),
	}
}

func newPolicyPush(t terminal, addr *string) *cobra.Command {
	var name string
	var pairs []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "push FILE",
		Short: "Put a policy in force, in the place of the one with its name or at the end of the chain",
		Long: `Push checks the module, instantiates and configures it beside the running one, and swaps it in between
two steps. A module that is refused changes nothing.`,
		Example: "  sluice policy push queue-age.wasm --set max_age=2s",
		Args:    takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			wasm, query, err := readPush(args[0], pairs)
			if err != nil {
				return usageError{err}
			}
			if name == "" {
				name = config.NameOf(args[0])
			}
			var p admin.Policy
			if err := c.json(cmd.Context(), http.MethodPut, policyPath(name), query, wasm, &p); err != nil {
				return err
			}
			return printChange(t, asJSON, p, "pushed")
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the policy's name (default the file's, without .wasm)")
	cmd.Flags().StringArrayVar(&pairs, "set", nil, "a setting of the policy, key=value; may be repeated")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func readPush(file string, pairs []string) ([]byte, url.Values, error) {
	set, err := config.ParseSettings(pairs)
	if err != nil {
		return nil, nil, err
	}
	query := url.Values{}
	for k, v := range set {
		query.Add("set", k+"="+v) // Encode sorts by key alone, and the order of settings means nothing
	}
	wasm, err := readPolicy(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w%s", err, config.SettingsHint(file, "--set"))
	}
	return wasm, query, err
}

// readPolicy reads a module. What it holds is for the policy host to judge, its size is judged here.
func readPolicy(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	if info.Size() > admin.BodyLimit {
		return nil, fmt.Errorf("read policy: %s is %d bytes; at most %d are taken", file, info.Size(), admin.BodyLimit)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return wasm, nil
}

func policyPath(name string) string { return "/v1/policies/" + url.PathEscape(name) }

func printChange(t terminal, asJSON bool, p admin.Policy, verb string) error {
	if asJSON {
		return printJSON(t.out, p)
	}
	if p.State == admin.StateRemoved {
		_, err := fmt.Fprintf(t.out, "removed %s: it had no version before, so the native default decides\n", p.Name)
		return err
	}
	_, err := fmt.Fprintf(t.out, "%s %s@%s version %d (%s)\n", verb, p.Name, short(p.Digest), p.Version, strings.Join(p.Hooks, ","))
	return err
}

func newPolicyRollback(t terminal, addr *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Put the version before the present one back in force",
		Args:  takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			var p admin.Policy
			if err := c.json(cmd.Context(), http.MethodPost, policyPath(args[0])+"/rollback", nil, nil, &p); err != nil {
				return err
			}
			return printChange(t, asJSON, p, "rolled back to")
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newPolicyRemove(t terminal, addr *string) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Take a policy out of the chain",
		Args:  takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(t, *addr)
			if err != nil {
				return err
			}
			resp, err := c.do(cmd.Context(), http.MethodDelete, policyPath(args[0]), nil, nil)
			if err != nil {
				return err
			}
			resp.Body.Close()
			_, err = fmt.Fprintf(t.out, "removed %s\n", args[0])
			return err
		},
	}
}
