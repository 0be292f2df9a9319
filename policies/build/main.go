// Build brings the .wasm of the policies that ship up to date with their sources, and does nothing when they are.
//
//	go run ./policies/build          # build what is stale
//	go run ./policies/build --check  # exit with 1 when something is
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/sluice-dev/sluice/policies/internal/shipped"
)

func main() {
	check := flag.Bool("check", false, "build nothing; fail when something is stale")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check bool) error {
	root, err := shipped.Root()
	if err != nil {
		return err
	}
	if !check {
		return shipped.Update(ctx, root, func(line string) { fmt.Fprintln(os.Stderr, line) })
	}
	stale, err := shipped.Stale(root)
	if err == nil && len(stale) > 0 {
		err = fmt.Errorf("stale: %s; run go run ./policies/build", strings.Join(stale, ", "))
	}
	return err
}
