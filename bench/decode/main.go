// Command decode measures llama.cpp's own batch decode on this machine: tokens per second for 1, 4, 8 and 16 streams,
// and of a long prompt. It is what the engine's own numbers are compared with, and says nothing about Sluice itself.
//
//	go run ./bench/decode [--model F] [--llama-lib D] [--device cpu] [--streams 1,4,8,16] [--json]
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/bench/rawloop"
	"github.com/sluice-dev/sluice/gpu/llama"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = measure(c, stdout, stderr)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, llama.ErrUsage), errors.Is(err, errFlags):
		fmt.Fprintln(stderr, "decode:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "decode:", err)
	return exitFailed
}

var errFlags = errors.New("wrong flags")

type config struct {
	options                         llama.Options
	streams                         []int
	prompt, output, prefill, repeat int
	json                            bool
}

func parse(args []string, stderr io.Writer) (c config, err error) {
	libs, _, model, err := llama.DefaultPaths()
	if err != nil {
		return c, err
	}
	f := flag.NewFlagSet("decode", flag.ContinueOnError)
	f.SetOutput(stderr)
	o := &c.options
	f.StringVar(&o.ModelPath, "model", model, "GGUF file")
	f.StringVar(&o.LibDir, "llama-lib", libs, "folder of the llama.cpp libraries")
	f.StringVar(&o.Device, "device", llama.DeviceCPU, "device that computes")
	f.StringVar(&o.KVType, "kv-type", "", "f16 or q8_0 (default: as sluice serve)")
	f.StringVar(&o.KVLayout, "kv", llama.LayoutUnified, "unified or split")
	f.IntVar(&o.Threads, "threads", 0, "CPU threads (default: as sluice serve)")
	streams := f.String("streams", "1,4,8,16", "numbers of streams, with commas")
	f.IntVar(&c.prompt, "prompt", 32, "tokens of each stream's prompt")
	f.IntVar(&c.output, "tokens", 128, "tokens that each stream generates")
	f.IntVar(&c.prefill, "prefill", 512, "tokens of the long prompt")
	f.IntVar(&c.repeat, "repeat", 3, "times that each is measured; the median is shown")
	f.BoolVar(&c.json, "json", false, "print JSON")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return c, err
		}
		return c, fmt.Errorf("%w: %w", errFlags, err)
	}
	return c, c.finish(*streams, f.NArg())
}

func (c *config) finish(streams string, rest int) error {
	if rest > 0 || c.repeat < 1 {
		return fmt.Errorf("%w: no arguments are taken, and --repeat is at least 1", errFlags)
	}
	most := 1
	for s := range strings.SplitSeq(streams, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 || n > 256 {
			return fmt.Errorf("%w: --streams takes numbers from 1 to 256, not %q", errFlags, s)
		}
		c.streams = append(c.streams, n)
		most = max(most, n)
	}
	c.options.MaxSeqs = max(16, most)
	c.options.MaxBatchTokens = max(512, most)
	c.options.KVTokens = max(16384, most*(c.prompt+c.output))
	if c.options.KVLayout == llama.LayoutSplit {
		c.options.KVTokens = max(c.options.KVTokens, c.options.MaxSeqs*max(c.prefill, c.prompt+c.output))
	}
	return nil
}

func measure(c config, stdout, stderr io.Writer) error {
	loop, err := rawloop.Open(c.options)
	if err != nil {
		return err
	}
	defer loop.Close()
	for _, w := range loop.Info().Warnings {
		fmt.Fprintln(stderr, "warning:", w)
	}
	rep := newReport(c, loop.Info())
	prefill, err := median(c.repeat, func() (rawloop.Result, error) { return loop.Prefill(c.prefill) })
	if err != nil {
		return fmt.Errorf("measure prefill: %w", err)
	}
	rep.Prefill = newRow(prefill)
	for _, n := range c.streams {
		r, err := median(c.repeat, func() (rawloop.Result, error) { return loop.Decode(n, c.prompt, c.output) })
		if err != nil {
			return fmt.Errorf("measure %d streams: %w", n, err)
		}
		rep.Decode = append(rep.Decode, newRow(r))
	}
	return rep.write(stdout, c.json)
}
