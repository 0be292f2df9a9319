package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/cmd/sluice/author/check"
	"github.com/sluice-dev/sluice/cmd/sluice/author/project"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/spf13/cobra"
)

// buildReport is what `policy build --json` prints.
type buildReport struct {
	*project.Built
	Check *check.Result `json:"check"`
}

func newPolicyBuild(t terminal) *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build the policy in a folder with its language's toolchain, and check it",
		Long: `Build finds the language by the folder's files, runs its ordinary toolchain, and checks the module with its default
settings as a server would. It says which command it runs: nothing is needed to run that without it.`,
		Example: "  sluice policy build\n  sluice policy build mine -o mine.wasm",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			built, err := buildPolicy(cmd.Context(), t, folder(args), out)
			if err != nil {
				return err
			}
			if !asJSON {
				fmt.Fprintf(t.out, "%s: %d bytes, sha256 %s\n", built.File, built.Bytes, built.Digest)
			}
			return checkBuilt(cmd.Context(), t, built, asJSON)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the module's file (default the policy's name with .wasm, in the folder)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func folder(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// buildPolicy runs the toolchain. What that says goes to standard error.
func buildPolicy(ctx context.Context, t terminal, dir, out string) (*project.Built, error) {
	built, err := project.Build(ctx, dir, out, t.err)
	if err != nil && ctx.Err() == nil && !errors.Is(err, project.ErrToolchain) {
		return nil, usageError{err}
	}
	return built, err
}

func checkBuilt(ctx context.Context, t terminal, built *project.Built, asJSON bool) error {
	wasm, err := readPolicy(built.File)
	if err != nil {
		return err
	}
	return withBox(func(box *sandbox.Box) error {
		r, err := check.Module(ctx, box, config.NameOf(built.File), wasm, nil)
		if err != nil {
			return err
		}
		if asJSON {
			if err := printJSON(t.out, buildReport{built, r}); err != nil {
				return err
			}
		} else if err := printCheck(t, r); err != nil {
			return err
		}
		return verdict(r)
	})
}
