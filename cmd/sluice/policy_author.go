package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/spf13/cobra"
)

// withAuthor adds the commands that make and judge a policy to those that steer a server. They talk to no server.
func withAuthor(policy *cobra.Command, t terminal) *cobra.Command {
	const author = "author"
	policy.AddGroup(&cobra.Group{ID: author, Title: "Write a policy, without a server:"})
	for _, cmd := range []*cobra.Command{
		newPolicyNew(t), newPolicyBuild(t), newPolicyCheck(t), newPolicyCases(t), newPolicyBench(t), newPolicyRun(t), newPolicyInspect(t),
	} {
		cmd.GroupID = author
		help := cmd.HelpFunc()
		cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
			if f := c.InheritedFlags().Lookup("admin"); f != nil {
				f.Hidden = true
			}
			help(c, args)
		})
		policy.AddCommand(cmd)
	}
	return policy
}

// takesModule wants FILE and then any KEY=VALUE.
func takesModule(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s needs FILE", cmd.CommandPath())
	}
	for _, a := range args[1:] {
		if !strings.Contains(a, "=") {
			return fmt.Errorf("%s takes FILE and settings as KEY=VALUE, but got %q", cmd.CommandPath(), a)
		}
	}
	return nil
}

// candidate is a module on the command line, with its settings.
type candidate struct {
	name   string
	wasm   []byte
	config map[string]string
}

// readCandidate reads FILE KEY=VALUE...
func readCandidate(args []string) (*candidate, error) {
	set, err := config.ParseSettings(args[1:])
	if err != nil {
		return nil, usageError{err}
	}
	wasm, err := readPolicy(args[0])
	if err != nil {
		return nil, usageError{err}
	}
	return &candidate{config.NameOf(args[0]), wasm, set}, nil
}

// withBox lends a box in the runtime that a server has unless it is told otherwise.
func withBox(do func(*sandbox.Box) error) error {
	rt, err := newRuntime(config.RuntimeWazero, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer rt.Close()
	box := sandbox.Open(rt)
	defer box.Close()
	return do(box)
}

// refusedIsInput makes a refusal the caller's input, as it is when a server refuses.
func refusedIsInput(err error) error {
	var refused *plugins.RefusedError
	if errors.As(err, &refused) {
		return usageError{err}
	}
	return err
}
