// Command gpucheck runs the server's decode loop on a GPU, beside llama.cpp's own batch decode on the same GPU, and prints one
// table: tokens per second at each number of streams, and whether texts stay what they are when drafts are verified.
//
//	make gpu-check                                       # installs what is missing, then the below
//	go run ./bench/gpucheck [--device cuda] [--model F] [--llama-lib D] [--streams 1,4,8,16,64] [--limit 7m]
//
// RATIO is the engine's rate over the raw loop's. EQUAL counts the streams whose greedy text with n-gram drafts is, byte for byte,
// that without; a GPU's kernels round differently from batch to batch, so on one it need not be all of them, and FIRST_DIFFERENCE
// says where the first one parts. On the CPU with --kv split it must be all. A device that is not there is an error; so is a stream
// that fails.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-dev/sluice/bench/rawloop"
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/host/engine"
)

// settings are what the flags say.
type settings struct {
	opt     llama.Options
	streams []int
	tokens  int
	limit   time.Duration
}

func main() {
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		os.Exit(1)
	}
}

func parse(args []string) (s settings, err error) {
	f := flag.NewFlagSet("gpucheck", flag.ContinueOnError)
	device := f.String("device", "cuda", "what computes; cpu tries the check itself")
	libs := f.String("llama-lib", "", "folder of the llama.cpp libraries (default the one that set-up installed for the device)")
	model := f.String("model", "", "GGUF file (default the published form of the default model: a GPU needs no conversion)")
	streams := f.String("streams", "1,4,8,16,64", "numbers of streams, with commas")
	kv := f.String("kv", llama.LayoutUnified, "layout of the KV cache: unified, split")
	threads := f.Int("threads", 0, "CPU threads (default one for each core)")
	f.IntVar(&s.tokens, "tokens", 128, "tokens that each stream generates")
	f.DurationVar(&s.limit, "limit", 7*time.Minute, "begin no further row after this time")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	most := 1
	for text := range strings.SplitSeq(*streams, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 128 {
			return s, fmt.Errorf("read --streams: %q is not a number from 1 to 128", text)
		}
		s.streams, most = append(s.streams, n), max(most, n)
	}
	if s.tokens < 2 || s.tokens > 4096 {
		return s, fmt.Errorf("read --tokens: %d is not within 2 to 4096", s.tokens)
	}
	defaultLibs, published, _, err := llama.DefaultPaths()
	if err != nil {
		return s, err
	}
	if *libs == "" {
		if *libs = defaultLibs; *device != llama.DeviceCPU {
			if *libs, err = llama.CUDALibraries(); err != nil {
				return s, err
			}
		}
	}
	if *model == "" {
		*model = published
	}
	each := (promptTokens + s.tokens + 16 + 255) / 256 * 256 // with room for drafts
	s.opt = llama.Options{LibDir: *libs, ModelPath: *model, Device: *device, Threads: *threads, MaxSeqs: most, KVTokens: most * each, ContextTokens: each, KVLayout: *kv}
	return s, nil
}

// row is one line of the table.
type row struct {
	raw, plain, drafted float64 // tokens per second
	drafts, accepted    int
	equal               int
	difference          string // "" = none
}

func run(s settings, out io.Writer) error {
	start := time.Now()
	raw, err := rawloop.Open(s.opt)
	if err != nil {
		return fmt.Errorf("open raw loop: %w", err)
	}
	defer raw.Close()
	eng, err := openEngine(s.opt)
	if err != nil {
		return err
	}
	defer eng.Close()
	info := raw.Info()
	fmt.Fprintf(out, "%s on %s (%s), KV %s, %d tokens a stream; opened in %.1f s\n", info.Model, info.Device, info.DeviceName, s.opt.KVLayout, s.tokens, time.Since(start).Seconds())
	rows := map[int]row{}
	for _, n := range s.streams {
		if time.Since(start) > s.limit {
			fmt.Fprintf(out, "the time is over: no row for %d streams\n", n)
			continue
		}
		if rows[n], err = measure(raw, eng, n, s.tokens); err != nil {
			return fmt.Errorf("%d streams: %w", n, err)
		}
	}
	return print(out, s.streams, rows)
}

// measure runs the raw loop and the engine without and with drafts; the raw loop and the plain engine once before, to warm up.
func measure(raw *rawloop.Loop, eng *engine.Engine, n, tokens int) (r row, err error) {
	var prompts [][]gpu.Token
	for i := range n {
		prompts = append(prompts, raw.Prompt(i, promptTokens))
	}
	var plain, drafted texts
	for range 2 {
		res, err := raw.Decode(n, promptTokens, tokens)
		if err != nil {
			return r, fmt.Errorf("raw loop: %w", err)
		}
		r.raw = res.PerSecond()
		if plain, err = generate(eng, prompts, tokens, false); err != nil {
			return r, fmt.Errorf("engine: %w", err)
		}
	}
	if drafted, err = generate(eng, prompts, tokens, true); err != nil {
		return r, fmt.Errorf("engine with drafts: %w", err)
	}
	r.plain, r.drafted, r.drafts, r.accepted = plain.rate, drafted.rate, drafted.drafts, drafted.accepted
	r.equal, r.difference = compare(plain.text, drafted.text)
	return r, nil
}

// compare counts equal texts, and says where the first that differs parts from the other.
func compare(a, b []string) (equal int, difference string) {
	for i := range a {
		if a[i] == b[i] {
			equal++
			continue
		}
		if difference == "" {
			at := 0
			for at < min(len(a[i]), len(b[i])) && a[i][at] == b[i][at] {
				at++
			}
			difference = fmt.Sprintf("stream %d at byte %d of %d", i, at, len(a[i]))
		}
	}
	return equal, difference
}

func print(out io.Writer, streams []int, rows map[int]row) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "STREAMS\tRAW_TOKENS_PER_S\tENGINE\tRATIO\tWITH_DRAFTS\tACCEPTED\tEQUAL\tFIRST_DIFFERENCE")
	for _, n := range streams {
		r, ok := rows[n]
		if !ok {
			continue
		}
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.3f\t%.1f\t%d/%d\t%d/%d\t%s\n", n, r.raw, r.plain, r.plain/r.raw, r.drafted, r.accepted, r.drafts, r.equal, n, orDash(r.difference))
	}
	return w.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
