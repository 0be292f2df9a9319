package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases"
	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/spf13/cobra"
)

func newPolicyRun(t terminal) *cobra.Command {
	var file, hook string
	cmd := &cobra.Command{
		Use:   "run FILE [KEY=VALUE...] --state FILE",
		Short: "Ask a module for one decision on a state, and print it as JSON",
		Long: `Run asks one hook about a state that is given by the names of the ABI's fields, and prints what it answers. The file has the
keys state, rows (of the requests, or events), and may have hook; it is JSON or YAML. What it leaves out is an idle server.`,
		Example: `  echo '{"state": {"waiting_requests": 40}, "rows": [{"class": 1}]}' | sluice policy run mine.wasm --state - --hook admit`,
		Args:    takesModule,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := readQuestion(file, hook, cmd.InOrStdin())
			if err != nil {
				return usageError{err}
			}
			c, err := readCandidate(args)
			if err != nil {
				return err
			}
			return withBox(func(box *sandbox.Box) error {
				p, err := box.Load(cmd.Context(), c.name, c.wasm, c.config)
				if err != nil {
					return refusedIsInput(err)
				}
				defer p.Close()
				if !p.Hooks().Has(q.Hook) {
					return usageErrorf("run policy %s: it has no hook %s", c.name, sandbox.HookName(q.Hook))
				}
				a := p.Ask(q)
				if err := printJSON(t.out, a.Show()); err != nil {
					return err
				}
				if a.Fault != "" {
					return fmt.Errorf("run policy %s: it failed: %s", c.name, a.Fault)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&file, "state", "", "the file of the state; - is standard input")
	cmd.Flags().Bool("json", true, "print JSON, which it always does")
	cmd.Flags().StringVar(&hook, "hook", "", "the hook to ask (default the one that the file names)")
	return cmd
}

// readQuestion reads what is asked.
func readQuestion(file, hook string, in io.Reader) (*sandbox.Question, error) {
	var h abi.Hook
	if hook != "" {
		var ok bool
		if h, ok = sandbox.HookNamed(hook); !ok {
			return nil, fmt.Errorf("--hook %q is none of %v", hook, sandbox.Names())
		}
	}
	var text []byte
	var err error
	switch file {
	case "":
		return nil, fmt.Errorf("--state FILE is missing; - is standard input")
	case "-":
		file = "standard input"
		text, err = io.ReadAll(io.LimitReader(in, notation.MaxBytes+1))
	default:
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	doc, err := notation.Parse(file, text)
	if err != nil {
		return nil, err
	}
	return cases.Ask(doc, h)
}
