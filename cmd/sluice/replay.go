package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/replay"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/spf13/cobra"
)

// nativeSide is what --policy and --against take for the host's own defaults.
const nativeSide = "native"

type replayFlags struct {
	trace      string
	a, b       []string
	sim        string
	seed       uint64
	speed      float64
	percents   []int
	acceptance float64
	skipBad    bool
	runtime    string
	asJSON     bool
}

func newReplay(t terminal) *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Compare policies on recorded traffic, in virtual time",
		Long: `Replay runs a trace twice through the server's own scheduler on a simulated device: under the policies
of --policy, and under those of --against, which is the host's native default unless named. It prints
latencies by prompt length, what was shed, and the share of requests that met the objectives. The same
trace, policies and seed give the same output, byte for byte.

It reads what 'sluice trace export' writes, the Azure 2023, Mooncake and ServeGen traces, and CSV with the columns
arrival_s, prompt_tokens, output_tokens and, if wanted, class; also compressed with zstd or gzip.`,
		Example: `  sluice trace export > day.jsonl
  sluice replay --trace day.jsonl --policy queue-age.wasm:max_age=1s --against queue-age.wasm:max_age=4s`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), t) },
	}
	p := cmd.Flags()
	p.StringVar(&f.trace, "trace", "", "trace file (needed)")
	p.StringArrayVar(&f.a, "policy", nil, "policy of side A: FILE, FILE:key=value,..., or native; may be repeated (needed)")
	p.StringArrayVar(&f.b, "against", nil, "policy of side B, likewise (default native)")
	p.StringVar(&f.sim, "sim", sim.CPUProfile, "simulated device: "+sim.CPUProfile+", or MODEL@GPU as in llama-3.1-8b@h100")
	p.Uint64Var(&f.seed, "seed", 1, "of everything that is drawn")
	p.Float64Var(&f.speed, "speed", 1, "arrivals so many times as fast as recorded, 0.001 to 1000")
	p.IntSliceVar(&f.percents, "step-percent", []int{100}, "step time in percent of the simulated device's; several give several tables")
	p.Float64Var(&f.acceptance, "acceptance", 0, "chance that a draft token is accepted, where the trace does not tell")
	p.BoolVar(&f.skipBad, "skip-bad", false, "pass over lines of the trace that cannot be read")
	p.StringVar(&f.runtime, policyRuntimeFlag, config.RuntimeWazero, policyRuntimeUsage)
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

func (f *replayFlags) run(ctx context.Context, t terminal) error {
	if f.trace == "" || len(f.a) == 0 {
		return usageErrorf("replay needs --trace FILE and --policy FILE (or --policy native)")
	}
	if f.speed <= 0 || slices.Contains(f.percents, 0) {
		return usageErrorf("--speed and --step-percent must be above 0")
	}
	in, err := f.input(t)
	if err != nil {
		return usageError{err}
	}
	if len(f.b) == 0 {
		f.b = []string{nativeSide}
	}
	a, err := newSide(ctx, t, f.runtime, f.a)
	if err != nil {
		return err
	}
	b, err := newSide(ctx, t, f.runtime, f.b)
	if err != nil {
		return err
	}
	report, err := replay.NewReport(ctx, in, a, b, f.percents...)
	switch {
	case err == nil:
	case errors.Is(err, replay.ErrStuck) || ctx.Err() != nil:
		return err
	default:
		return usageError{err}
	}
	if f.asJSON {
		return report.WriteJSON(t.out)
	}
	return report.WriteText(t.out)
}

// input reads the trace and checks what the flags say.
func (f *replayFlags) input(t terminal) (in replay.Input, err error) {
	profile, err := sim.ParseProfile(f.sim)
	if err != nil {
		return in, err
	}
	loaded, err := trace.LoadFile(f.trace, trace.Options{SkipBad: f.skipBad})
	if err != nil {
		return in, err
	}
	for _, w := range loaded.Warnings {
		fmt.Fprintf(t.err, "sluice: %s: %s\n", f.trace, w)
	}
	return replay.Input{
		Records: loaded.Records, Sim: profile, Seed: f.seed, Speed: f.speed, Acceptance: f.acceptance,
	}, nil
}

// newSide reads the policies of one side. They are loaded anew for each run, since policies keep state; a first time here,
// so that one that is refused is known before the trace is run.
func newSide(ctx context.Context, t terminal, runtime string, texts []string) (replay.Side, error) {
	if len(texts) == 1 && texts[0] == nativeSide {
		return replay.Side{Name: nativeSide}, nil
	}
	if slices.Contains(texts, nativeSide) {
		return replay.Side{}, usageErrorf("native stands alone on its side: it is what decides where no policy does, so leave it out beside others")
	}
	specs, err := parsePolicies(texts)
	if err != nil {
		return replay.Side{}, usageError{err}
	}
	policies, err := readPolicies(specs)
	if err != nil {
		return replay.Side{}, usageError{err}
	}
	s := &side{log: slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: slog.LevelWarn})), runtime: runtime, policies: policies}
	_, done, err := s.load(ctx)
	if err != nil {
		return replay.Side{}, usageError{hinted(err, policies, replay.DefaultClasses())}
	}
	done()
	return replay.Side{Name: sideName(texts, specs), New: func() (abi.Decider, func(), error) { return s.load(ctx) }, Who: s.who}, nil
}

// sideName is what was asked for, without the folders: reports are compared across machines.
func sideName(texts []string, specs []config.Policy) string {
	names := make([]string, len(specs))
	for i, p := range specs {
		names[i] = filepath.Base(p.File) + strings.TrimPrefix(texts[i], p.File)
	}
	return strings.Join(names, " + ")
}

// side loads one chain of policies.
type side struct {
	log      *slog.Logger
	runtime  string
	policies []plugins.Policy
	host     *plugins.Host // of the run in progress
}

func (s *side) load(ctx context.Context) (abi.Decider, func(), error) {
	rt, err := newRuntime(s.runtime, s.log)
	if err != nil {
		return nil, nil, err
	}
	host := plugins.New(rt, plugins.Options{Log: s.log, Inline: true})
	done := func() {
		if err := errors.Join(host.Close(), rt.Close()); err != nil {
			s.log.Warn("policies were not freed", "error", err)
		}
	}
	if err := host.SetAll(ctx, s.policies); err != nil {
		done()
		return nil, nil, err
	}
	s.host = host
	set, _, _ := host.Swap(0)
	return swapped{set, host}, done, nil
}

// swapped is the first set of a host, which is asked for the next ones.
type swapped struct {
	abi.Decider
	host *plugins.Host
}

// Swap implements replay.Swapper.
func (s swapped) Swap(now int64) (abi.Decider, uint32, bool) { return s.host.Swap(now) }

func (s *side) who(id abi.PolicyID) trace.Decider { return decider(s.host, id) }

// decider resolves who decided, for records.
func decider(host *plugins.Host, id abi.PolicyID) trace.Decider {
	ref := host.Ref(id)
	return trace.Decider{Policy: ref.Name, Digest: ref.Digest, Fallback: ref.Fallback}
}

// readPolicies reads the modules of a chain.
func readPolicies(specs []config.Policy) ([]plugins.Policy, error) {
	var all []plugins.Policy
	for _, p := range specs {
		wasm, err := readPolicy(p.File)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w%s", err, config.SettingsHint(p.File, ""))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, plugins.Policy{Name: p.Name, Wasm: wasm, Config: p.Set})
	}
	return all, nil
}
