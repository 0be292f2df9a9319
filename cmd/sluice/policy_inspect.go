package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/author/module"
	"github.com/spf13/cobra"
)

func newPolicyInspect(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Say what a module is made of, without running it",
		Long: `Inspect reads a module and runs nothing of it: its digest, sections, imports, exports and biggest functions, the ABI that
it speaks, and which of its functions may call themselves. What only running it tells, check says.`,
		Example: "  sluice policy inspect mine.wasm\n  sluice policy inspect mine.wasm --json",
		Args:    takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			wasm, err := readPolicy(args[0])
			if err != nil {
				return usageError{err}
			}
			info, err := module.Inspect(wasm)
			if err != nil {
				return usageError{err}
			}
			if asJSON {
				return printJSON(t.out, info)
			}
			return printInfo(t, info)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printInfo(t terminal, i *module.Info) error {
	var made []string
	for _, p := range i.Producers {
		made = append(made, strings.TrimSpace(p.Name+" "+p.Version))
	}
	pairs := [][2]string{
		{"digest", i.Digest}, {"bytes", strconv.Itoa(i.Bytes)}, {"language", i.Language}, {"made by", strings.Join(made, ", ")},
		{"abi", abiVersion(i)}, {"exports the hooks", strings.Join(i.Hooks, ", ")}, {"reads", strings.Join(i.Reads, ", ")},
		{"memory", fmt.Sprintf("%d to %d pages of 64 KiB", i.MemoryMin, i.MemoryMax)},
		{"functions", strconv.Itoa(i.Functions)}, {"code", fmt.Sprintf("%d bytes", i.CodeBytes)}, {"data", fmt.Sprintf("%d bytes", i.DataBytes)},
		{"recursion", i.Recursion.Unknown},
	}
	for k := range i.Recursion.Cycles {
		pairs = append(pairs, [2]string{"may call itself", i.Recursion.Cycles[k].String()})
	}
	if err := printPairs(t.out, pairs); err != nil {
		return err
	}
	var sections, symbols, biggest [][]string
	for _, s := range i.Sections {
		sections = append(sections, []string{s.Name, strconv.Itoa(s.Bytes)})
	}
	for _, s := range i.Imports {
		symbols = append(symbols, []string{"import", s.Kind, s.Name, s.Type})
	}
	for _, s := range i.Exports {
		symbols = append(symbols, []string{"export", s.Kind, s.Name, s.Type})
	}
	for _, f := range i.Biggest {
		biggest = append(biggest, []string{strconv.Itoa(f.Index), f.Name, strconv.Itoa(f.Bytes)})
	}
	for _, table := range []struct {
		headers []string
		rows    [][]string
	}{{[]string{"SECTION", "BYTES"}, sections}, {[]string{"WAY", "KIND", "NAME", "TYPE"}, symbols}, {[]string{"FUNCTION", "NAME", "BYTES"}, biggest}} {
		fmt.Fprintln(t.out)
		if err := printTable(t.out, table.headers, table.rows); err != nil {
			return err
		}
	}
	return nil
}

func abiVersion(i *module.Info) string {
	switch {
	case i.ABIMajor == 0:
		return "none: it exports no marker"
	case i.ABIMinor < 0:
		return strconv.Itoa(i.ABIMajor)
	}
	return fmt.Sprintf("%d.%d", i.ABIMajor, i.ABIMinor)
}
