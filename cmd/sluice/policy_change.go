package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/spf13/cobra"
)

// changeFlags are what every change of the policies takes.
type changeFlags struct {
	ifMatch uint64 // 0 = any
	why     string
	asJSON  bool
}

func (f *changeFlags) add(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&f.ifMatch, "if-match", 0, "change nothing unless the policies are at this `REVISION`, which ls --json and each change show")
	cmd.Flags().StringVar(&f.why, "why", "", "the reason, for the history and the audit log")
	jsonFlag(cmd, &f.asJSON)
}

// call is the request of a change.
func (f *changeFlags) call(method, route string) call {
	r := call{method: method, path: route, query: url.Values{}, header: http.Header{}}
	if f.why != "" {
		r.query.Set("why", f.why)
	}
	if f.ifMatch > 0 {
		r.header.Set("If-Match", strconv.Quote(strconv.FormatUint(f.ifMatch, 10)))
	}
	return r
}

// change sends a request that changes a policy and shows what became of it.
// done is what was done, and gone what is said when the policy has left the chain with that.
func (f *changeFlags) change(ctx context.Context, t terminal, addr string, r call, done, gone string) error {
	c, err := newClient(t, addr)
	if err != nil {
		return err
	}
	p, err := c.change(ctx, r)
	if err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(t.out, p)
	}
	if p.Unchanged {
		_, err = fmt.Fprintf(t.out, "%s is so already, nothing was changed, revision %d\n", p.Name, p.Revision)
		return err
	}
	if p.State == admin.StateRemoved {
		_, err = fmt.Fprintf(t.out, gone+", revision %d\n", p.Name, p.Revision)
		return err
	}
	_, err = fmt.Fprintf(t.out, "%s %s@%s version %d (%s), revision %d\n", done, p.Name, short(p.Digest), p.Version, strings.Join(p.Hooks, ","), p.Revision)
	return err
}

// change sends a change of a policy. The answer has a body but where the policy is gone.
func (c *client) change(ctx context.Context, r call) (*admin.Changed, error) {
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	p := &admin.Changed{}
	if resp.StatusCode != http.StatusNoContent {
		return p, c.decode(resp, p)
	}
	name, err := url.PathUnescape(path.Base(r.path))
	if err != nil {
		return nil, fmt.Errorf("read policy's name: %w", err)
	}
	p.Name, p.State = name, admin.StateRemoved
	p.Revision, err = strconv.ParseUint(strings.Trim(resp.Header.Get("ETag"), `"`), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the revision of %s: %w", c.name, err)
	}
	return p, nil
}

// named is a command that changes one policy by its name. The example gives the reason why.
func named(t terminal, addr *string, use, short, why, method, action, done, gone string) *cobra.Command {
	f := &changeFlags{}
	cmd := &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: fmt.Sprintf("  sluice policy %s queue-age --why '%s'", use, why),
		Args:    takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.change(cmd.Context(), t, *addr, f.call(method, policyPath(args[0], action)), done, gone)
		},
	}
	f.add(cmd)
	return cmd
}

// goneMeanwhile is said when somebody else removed the policy at the same time.
const goneMeanwhile = "%s was changed, and is gone by now"

func newPolicyRollback(t terminal, addr *string) *cobra.Command {
	return named(t, addr, "rollback", "Put the version before the present one back in force", "too strict", http.MethodPost, "rollback", "rolled back to", "removed %s: it had no version before")
}

func newPolicyRemove(t terminal, addr *string) *cobra.Command {
	return named(t, addr, "rm", "Take a policy out of the chain, with its shadow", "no longer needed", http.MethodDelete, "", "removed", "removed %s")
}

func newPolicyDisable(t terminal, addr *string) *cobra.Command {
	return named(t, addr, "disable", "Have the native default decide in a policy's place, and keep the policy", "too strict", http.MethodPost, "disable", "disabled", goneMeanwhile)
}

func newPolicyEnable(t terminal, addr *string) *cobra.Command {
	return named(t, addr, "enable", "Let a disabled policy decide again", "the load is over", http.MethodPost, "enable", "enabled", goneMeanwhile)
}

func newPolicyPromote(t terminal, addr *string) *cobra.Command {
	return named(t, addr, "promote", "Put a policy's shadow into force in its place", "agrees on a day of traffic", http.MethodPost, "promote", "promoted", goneMeanwhile)
}

func newPolicyDrop(t terminal, addr *string) *cobra.Command {
	return named(t, addr, "drop", "Take a policy's shadow away", "too strict", http.MethodDelete, "shadow", "dropped the shadow of", "dropped the shadow of %s, which was all there was")
}
