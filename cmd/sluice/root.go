package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// terminal is what a command may see of the process: results go to out, everything else to err.
type terminal struct {
	out, err io.Writer
	env      func(string) (string, bool)
}

// getenv is the value of an environment variable, "" when it is not set.
func (t terminal) getenv(name string) string {
	v, _ := t.env(name)
	return v
}

// run executes one command line and returns the exit code.
func run(args []string, t terminal) int {
	started := false
	root := newRoot(t)
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(t.err, "sluice: %v\n", err)
	if !started { // cobra refused the arguments
		fmt.Fprintf(t.err, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitCode(err)
}

func newRoot(t terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice",
		Short: "Serve a language model under WebAssembly policies, and replay what happened",
		Long: `Sluice runs a language model's decode loop and lets WebAssembly policies decide who is let in,
who goes first, how large the batch may get, and when to speculate. Policies are swapped while it
runs; what they decided is recorded and can be replayed against others.`,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(t.out)
	root.SetErr(t.err)
	root.SetUsageTemplate(root.UsageTemplate() + exitHelp)
	root.AddCommand(newServe(t), withAuthor(newPolicy(t), t), newTrace(t), newReplay(t), newModel(t), newConfig(t), newVersion(t))
	return root
}

// takes wants exactly the arguments that are named.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == len(names):
			return nil
		case len(names) == 0:
			return fmt.Errorf("%s takes flags only, but got %q", cmd.CommandPath(), args[0])
		case len(args) > len(names):
			extra := args[len(names)]
			return fmt.Errorf("%s takes %s and nothing more, but got %q%s", cmd.CommandPath(), strings.Join(names, " "), extra, settingHint(cmd, extra))
		}
		return fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.Join(names[len(args):], " "))
	}
}

// settingHint says how a setting is given to a command that takes it in a flag.
func settingHint(cmd *cobra.Command, arg string) string {
	if cmd.Flags().Lookup("set") == nil || !strings.Contains(arg, "=") {
		return ""
	}
	return ": a setting is given as --set " + arg
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageErrorf("%s needs a sub-command; run '%s --help'", cmd.CommandPath(), cmd.CommandPath())
		},
	}
	g.AddCommand(subs...)
	return g
}
