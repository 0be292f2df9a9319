package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases"
	"github.com/sluice-dev/sluice/cmd/sluice/author/project"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/spf13/cobra"
)

// errCases says that a policy does not do what its cases say.
var errCases = errors.New("the policy does not do what its cases say")

func newPolicyCases(t terminal) *cobra.Command {
	r := &casesRun{t: t}
	var watch bool
	cmd := &cobra.Command{
		Use:   "test [DIR|FILE]",
		Short: "Run a policy on its cases: states, requests, and what it is to answer",
		Long: `Test runs every case of the YAML files in the folder's cases on the module, in the server's own policy host: each in an
instance of its own, its steps one after the other in the same one. Given a folder it builds it first, if it can be built;
given a module it looks for cases beside it. --cases names others.`,
		Example: "  sluice policy test\n  sluice policy test mine --watch\n  sluice policy test queue-age.wasm --cases policies/queue-age/cases",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.locate(folder(args)); err != nil {
				return usageError{err}
			}
			if !watch {
				return r.once(cmd.Context())
			}
			return r.watch(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&r.cases, "cases", "", "the file or folder of the cases (default cases, beside the module)")
	cmd.Flags().BoolVar(&watch, "watch", false, "build and run again after every change, until interrupted")
	jsonFlag(cmd, &r.json)
	return cmd
}

// watch runs the cases again after every change, until an interrupt.
func (r *casesRun) watch(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return project.Watch(ctx, func() {
		if err := r.once(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(r.t.err, "sluice: %v\n", err)
		}
	}, r.sources()...)
}

// casesRun is where the module and the cases are.
type casesRun struct {
	t      terminal
	dir    string // to build; "" = the module is there
	module string
	cases  string
	json   bool
}

// locate finds the module and the cases.
func (r *casesRun) locate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("test policy: %w", err)
	}
	r.module = path
	beside := filepath.Dir(path)
	if info.IsDir() {
		r.dir, beside = path, path
		if r.module, err = project.Module(path); err != nil {
			return err
		}
	}
	if r.cases == "" {
		r.cases = filepath.Join(beside, "cases")
	}
	if _, err := os.Stat(r.cases); err != nil {
		return fmt.Errorf("read cases: %w; --cases names other ones", err)
	}
	return nil
}

func (r *casesRun) sources() []string {
	if r.dir != "" {
		return []string{r.dir, r.cases}
	}
	return []string{r.module, r.cases}
}

// once builds, and runs all cases.
func (r *casesRun) once(ctx context.Context) error {
	if r.dir != "" {
		if _, err := buildPolicy(ctx, r.t, r.dir, ""); err != nil {
			return err
		}
	}
	wasm, err := readPolicy(r.module)
	if err != nil {
		return usageError{err}
	}
	all, err := readCases(r.cases)
	if err != nil {
		return usageError{err}
	}
	return withBox(func(box *sandbox.Box) error { return r.run(ctx, box, wasm, all) })
}

func readCases(path string) (all []cases.Case, err error) {
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		files = nil
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				return nil, fmt.Errorf("read cases: %w", err)
			}
			files = append(files, found...)
		}
		slices.Sort(files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		more, err := cases.Decode(file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read cases: there is no case in %s", path)
	}
	return all, nil
}

// caseReport is one case in what `policy test --json` prints.
type caseReport struct {
	File     string          `json:"file"`
	Name     string          `json:"name"`
	Steps    int             `json:"steps"`
	OK       bool            `json:"ok"`
	Failures []cases.Failure `json:"failures"`
}

func (r *casesRun) run(ctx context.Context, box *sandbox.Box, wasm []byte, all []cases.Case) error {
	reports := []caseReport{}
	failed := 0
	for i := range all {
		c := &all[i]
		failures, err := cases.Run(ctx, box, config.NameOf(r.module), wasm, c)
		if err != nil {
			return refusedIsInput(err)
		}
		if len(failures) > 0 {
			failed++
		}
		if failures == nil {
			failures = []cases.Failure{}
		}
		reports = append(reports, caseReport{c.File, c.Name, len(c.Steps), len(failures) == 0, failures})
	}
	if err := r.print(reports, failed); err != nil {
		return err
	}
	if failed > 0 {
		return errCases
	}
	return nil
}

func (r *casesRun) print(reports []caseReport, failed int) error {
	if r.json {
		return printJSON(r.t.out, reports)
	}
	for i := range reports {
		c := &reports[i]
		if c.OK {
			continue
		}
		fmt.Fprintf(r.t.out, "FAIL  %s\n", c.Name)
		for j := range c.Failures {
			fmt.Fprintf(r.t.out, "      %v\n", &c.Failures[j])
		}
	}
	_, err := fmt.Fprintf(r.t.out, "%d cases, %d failed\n", len(reports), failed)
	return err
}
