// Command gen writes everything that follows from the ABI schema: the host's layouts, the guests' layouts and
// the reference page. It is run by `make generate`; a test fails when an output is stale.
//
//	go run ./plugins/abi/gen [--check]
//	go run ./plugins/abi/gen --promise > plugins/abi/testdata/v1.N.txt   # before the minor version rises
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	check := flag.Bool("check", false, "fail when an output is stale instead of writing it")
	promised := flag.Bool("promise", false, "print what this version of the schema promises, instead")
	flag.Parse()
	if *promised {
		s, err := Load(schemaPath)
		if err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
		_, _ = os.Stdout.Write(promise(s))
		return
	}
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

const schemaPath = "plugins/abi/abi.yaml"

func run(check bool) error {
	outputs, err := Outputs(schemaPath)
	if err != nil {
		return err
	}
	for _, o := range outputs {
		if check {
			have, err := os.ReadFile(o.Path)
			if err != nil {
				return fmt.Errorf("read output: %w", err)
			}
			if string(have) != string(o.Data) {
				return fmt.Errorf("%s is stale: run `make generate`", o.Path)
			}
			continue
		}
		if err := os.WriteFile(o.Path, o.Data, 0o644); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}
