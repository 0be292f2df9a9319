package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/author/project"
	"github.com/spf13/cobra"
)

func newPolicyNew(t terminal) *cobra.Command {
	var lang, dir string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Begin a policy: a folder that builds, with tests and the SDK",
		Long: `New makes a folder with a small policy, a native test, cases for the module, and the SDK of its language, so
that nothing needs to be fetched for it.`,
		Example: "  sluice policy new mine\n  sluice policy new --lang rust mine --dir policies/mine",
		Args:    takes("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := project.New(lang, args[0], dir)
			if err != nil {
				return usageError{err}
			}
			for _, f := range files {
				fmt.Fprintln(t.out, f)
			}
			if dir == "" {
				dir = args[0]
			}
			_, err = fmt.Fprintf(t.out, "\nnow: %[2]ssluice policy build %[1]s && sluice policy test %[1]s\n", filepath.Clean(dir), first(lang, dir))
			return err
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "go", "the language: "+strings.Join(project.Names(), ", "))
	cmd.Flags().StringVar(&dir, "dir", "", "the folder, new or empty (default NAME)")
	return cmd
}

// first is what a new folder needs before it can be built.
func first(lang, dir string) string {
	if setup := project.Setup(lang); setup != "" {
		return fmt.Sprintf("(cd %s && %s) && ", filepath.Clean(dir), setup)
	}
	return ""
}
