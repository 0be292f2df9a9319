// Command serving measures Sluice as a server beside llama.cpp's and vLLM's, over HTTP, with one client, on the same model and
// the same number of threads.
//
//	make bench-serving
//	go run ./bench/serving [--scenarios throughput,long-prompt,overload] [--peers llama-server,vllm,vllm-all-cpus] [--quick] [--json FILE]
//
// It starts each server on a loopback port and stops it at the end; a server that computes has the machine to itself, since the
// servers take turns. llama-server runs the same file on the same libraries; vLLM runs the model as bf16. scripts/peers.sh
// installs them. It is started in the repository's root, with bin/sluice built.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Names of the scenarios.
const (
	throughput  = "throughput"
	longPrompts = "long-prompt"
	overload    = "overload"
)

// options are how to measure.
type options struct {
	place     *place
	scenarios []string
	peers     []string
	streams   []int
	repeat    int
	quick     bool
	overload  time.Duration // how long requests arrive
}

// report is what --json writes. Fields may be added.
type report struct {
	Started    time.Time     `json:"started"`
	Threads    int           `json:"threads"`
	Repeat     int           `json:"repeat"`
	Throughput []rate        `json:"throughput,omitempty"`
	LongPrompt []longRun     `json:"long_prompt,omitempty"`
	Overload   []overloadRun `json:"overload,omitempty"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serving:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, w io.Writer) error {
	f := flag.NewFlagSet("serving", flag.ContinueOnError)
	scenarios := f.String("scenarios", throughput+","+longPrompts+","+overload, "what to measure, with commas")
	peers := f.String("peers", strings.Join([]string{nameLlama, nameVLLM, nameVLLMFull}, ","), "servers to compare with; one that is not installed is left out")
	streams := f.String("streams", "1,4,8,16", "numbers of streams of the throughput scenario")
	repeat := f.Int("repeat", 3, "turns; medians are shown")
	quick := f.Bool("quick", false, "short runs, which show that everything works and measure nothing")
	threads := f.Int("threads", runtime.NumCPU(), "threads that each server computes with")
	sluice := f.String("sluice", "bin/sluice", "the binary")
	config := f.String("config", "", "configuration of sluice serve; as shipped unless given")
	logs := f.String("logs", "", "folder that keeps the servers' logs; a temporary one unless given")
	file := f.String("json", "", "file to write the figures to as JSON")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *logs == "" {
		dir, err := os.MkdirTemp("", "sluice-serving-")
		if err != nil {
			return fmt.Errorf("make log folder: %w", err)
		}
		defer os.RemoveAll(dir)
		*logs = dir
	}
	pl, err := newPlace(*sluice, *logs, *config, *threads)
	if err != nil {
		return err
	}
	o := options{place: pl, scenarios: strings.Split(*scenarios, ","), peers: strings.FieldsFunc(*peers, func(r rune) bool { return r == ',' }), repeat: *repeat, quick: *quick, overload: 20 * time.Second}
	if o.quick {
		o.repeat, o.overload = 1, 4*time.Second
	}
	if err := o.parse(*streams); err != nil {
		return err
	}
	r, err := o.run(ctx, w)
	if err != nil || *file == "" {
		return err
	}
	return write(*file, r)
}

func (o *options) parse(streams string) error {
	for _, s := range o.scenarios {
		if !slices.Contains([]string{throughput, longPrompts, overload}, s) {
			return fmt.Errorf("read --scenarios: no scenario %q", s)
		}
	}
	for s := range strings.SplitSeq(streams, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > slots {
			return fmt.Errorf("read --streams: %q is not a number from 1 to %d", s, slots)
		}
		o.streams = append(o.streams, n)
	}
	if o.repeat < 1 {
		return errors.New("read --repeat: at least one turn is needed")
	}
	return nil
}

func write(file string, r *report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// run starts the servers, measures scenario after scenario, and stops them. vLLM stands in the throughput scenario alone.
func (o options) run(ctx context.Context, w io.Writer) (*report, error) {
	servers, err := o.start(ctx)
	defer func() {
		for _, s := range servers {
			s.proc.stop()
		}
	}()
	if err != nil {
		return nil, err
	}
	r := &report{Started: time.Now(), Threads: o.place.threads, Repeat: o.repeat}
	gguf := slices.DeleteFunc(slices.Clone(servers), func(s *server) bool { return s.name == nameVLLM || s.name == nameVLLMFull })
	for _, s := range o.scenarios {
		switch s {
		case throughput:
			if r.Throughput, err = runThroughput(ctx, o, servers[0], servers[1:]); err == nil {
				err = printThroughput(w, r.Throughput, o)
			}
		case longPrompts:
			if r.LongPrompt, err = runLongPrompt(ctx, o, gguf); err == nil {
				err = printLongPrompt(w, r.LongPrompt, o)
			}
		case overload:
			if r.Overload, err = runOverload(ctx, o, servers[0], gguf[1:]); err == nil {
				err = printOverload(w, r.Overload, o)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// start starts Sluice and those of the peers that are installed. What was started is returned with an error too.
func (o options) start(ctx context.Context) (servers []*server, err error) {
	for _, name := range append([]string{nameSluice}, o.peers...) {
		s, err := o.place.start(ctx, name)
		if errors.Is(err, errMissing) {
			fmt.Fprintln(os.Stderr, "serving: left out:", err)
			continue
		}
		if err != nil {
			return servers, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}
