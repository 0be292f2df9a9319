package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/host/admin"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/spf13/cobra"
)

// pushFlags are what a command takes that sends a module.
type pushFlags struct {
	changeFlags
	name, sig string
	pairs     []string
	dryRun    bool
}

func (f *pushFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "", "the policy's name (default the file's, without .wasm)")
	cmd.Flags().StringArrayVar(&f.pairs, "set", nil, "a setting of the policy, key=value; may be repeated")
	cmd.Flags().StringVar(&f.sig, "sig", "", "the module's signature, in a `FILE` that policy sign wrote (default the module's with .sig, if it is there)")
	f.changeFlags.add(cmd)
}

// call reads the module and what goes with it.
func (f *pushFlags) call(file, action string) (call, error) {
	set, err := config.ParseSettings(f.pairs)
	if err != nil {
		return call{}, err
	}
	if f.name == "" {
		f.name = config.NameOf(file)
	}
	r := f.changeFlags.call(http.MethodPut, policyPath(f.name, action))
	for k, v := range set {
		r.query.Add("set", k+"="+v) // Encode sorts by key alone, and the order of settings means nothing
	}
	r.kind = "application/wasm"
	if r.body, err = readPolicy(file); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w%s", err, config.SettingsHint(file, "--set"))
		}
		return call{}, err
	}
	sig, err := f.signature(file)
	if sig != "" {
		r.header.Set(admin.SignatureHeader, sig)
	}
	return r, err
}

// signature reads the file that --sig names, else the one beside the module, else none.
func (f *pushFlags) signature(file string) (string, error) {
	name := f.sig
	if name == "" {
		if name = file + sigSuffix; !exists(name) {
			return "", nil
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read signature: %w", err)
	}
	sig := strings.TrimSpace(string(text))
	if sig == "" || len(sig) > maxSignature || strings.ContainsAny(sig, "\r\n\x00") {
		return "", fmt.Errorf("read signature: %s is not one line of base64, as 'sluice policy sign' writes it", name)
	}
	return sig, nil
}

// maxSignature is far above what a signature is, and fits a header.
const maxSignature = 1024

func newPolicyPush(t terminal, addr *string) *cobra.Command {
	f := &pushFlags{}
	cmd := &cobra.Command{
		Use:   "push FILE",
		Short: "Put a policy in force, in the place of the one with its name or at the end of the chain",
		Long: `Push checks the module, instantiates and configures it beside the running one, and swaps it in between
two steps. A module that is refused changes nothing. --dry-run does all of it but the swap, and reports.`,
		Example: "  sluice policy push queue-age.wasm --set max_age=2s --why 'shed earlier'\n  sluice policy push queue-age.wasm --dry-run\n  sluice policy push new.wasm --name queue-age",
		Args:    takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.call(args[0], "")
			if err != nil {
				return usageError{err}
			}
			if f.dryRun {
				return f.try(cmd.Context(), t, *addr, r)
			}
			return f.change(cmd.Context(), t, *addr, r, "pushed", goneMeanwhile)
		},
	}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only report what the server's tests find")
	f.add(cmd)
	return cmd
}

// try has the server prepare a module, and shows the report.
func (f *pushFlags) try(ctx context.Context, t terminal, addr string, r call) error {
	c, err := newClient(t, addr)
	if err != nil {
		return err
	}
	r.query.Set("dry_run", "1")
	var report plugins.Report
	if err := c.json(ctx, r, &report); err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(t.out, report)
	}
	return printReport(t, f.name, &report)
}

func printReport(t terminal, name string, r *plugins.Report) error {
	if err := printPairs(t.out, [][2]string{
		{"policy", name + "@" + short(r.Digest)}, {"abi", fmt.Sprint("1.", r.ABIMinor)}, {"hooks", strings.Join(r.Hooks, ", ")},
		{"reads", strings.Join(r.Reads, ", ")}, {"memory", fmt.Sprintf("%d of %d pages", r.Pages, r.PageLimit)},
		{"start", fmt.Sprintf("%d of %d units of fuel", r.StartFuel, r.LoadLimit)},
	}); err != nil {
		return err
	}
	var rows [][]string
	for _, x := range r.Tests {
		rows = append(rows, []string{x.Hook, x.State, strconv.Itoa(x.Rows), strconv.FormatInt(x.Fuel, 10), strconv.FormatInt(x.Budget, 10), x.Outcome})
	}
	fmt.Fprintln(t.out)
	if err := printTable(t.out, []string{"HOOK", "STATE", "ROWS", "FUEL", "BUDGET", "OUTCOME"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "\n%s would be taken; nothing was changed\n", name)
	return err
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
