// Command engine measures the tokens per second of Sluice's engine beside llama.cpp's own batch decode, in one process, in
// turns, on the same model, settings, prompts and lengths. Prefill is not in the figures of either.
//
//	go run ./bench/engine [--streams 1,4,8,16] [--tokens 128] [--repeat 3] [--json]
//
// RATIO is the median of the engine's rate over the raw loop's, pair by pair: 1.00 means that the engine adds nothing.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sluice-dev/sluice/bench/internal/costs"
	"github.com/sluice-dev/sluice/bench/rawloop"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// row is one number of streams.
type row struct {
	Streams int     `json:"streams"`
	Raw     float64 `json:"raw_tokens_per_s"`
	Engine  float64 `json:"engine_tokens_per_s"`
	Ratio   float64 `json:"ratio"`
}

func main() {
	streams := flag.String("streams", "1,4,8,16", "numbers of streams, with commas")
	tokens := flag.Int("tokens", 128, "tokens that each stream generates")
	repeat := flag.Int("repeat", 3, "pairs measured; medians are shown")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if err := run(*streams, *tokens, *repeat, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run(streams string, tokens, repeat int, asJSON bool) error {
	libs, _, model, err := llama.DefaultPaths()
	if err != nil {
		return err
	}
	opt := llama.Options{LibDir: libs, ModelPath: model, Device: llama.DeviceCPU, MaxSeqs: 16}
	raw, err := rawloop.Open(opt)
	if err != nil {
		return fmt.Errorf("open raw loop: %w", err)
	}
	defer raw.Close()
	eng, err := open(opt)
	if err != nil {
		return err
	}
	defer eng.Close()
	var rows []row
	for s := range strings.SplitSeq(streams, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 16 {
			return fmt.Errorf("read --streams: %q is not a number from 1 to 16", s)
		}
		r, err := pairs(raw, eng, n, tokens, repeat)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(rows)
	}
	fmt.Printf("%s, %d tokens a stream, median of %d pairs\n", raw.Info().Model, tokens, repeat)
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "STREAMS\tRAW_TOKENS_PER_S\tENGINE_TOKENS_PER_S\tRATIO")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.3f\n", r.Streams, r.Raw, r.Engine, r.Ratio)
	}
	return w.Flush()
}

func open(opt llama.Options) (*engine.Engine, error) {
	dev, err := llama.Open(opt)
	if err != nil {
		return nil, fmt.Errorf("open device: %w", err)
	}
	info := dev.Info()
	cfg := sched.DefaultConfig(info.MaxSeqs, info.MaxBatchTokens, info.ContextTokens, info.KVTokens)
	if cfg.Costs, err = costs.Measure(dev); err != nil {
		return nil, err
	}
	for class := range cfg.SLO {
		cfg.SLO[class].TPOTNS = 0 // prompts of one burst are computed at once, as the raw loop has them
	}
	return engine.New(engine.Config{Device: dev, Tokenizer: dev.Tokenizer(), Sched: cfg})
}

// promptTokens is the length of each stream's prompt.
const promptTokens = 32

func pairs(raw *rawloop.Loop, eng *engine.Engine, n, tokens, repeat int) (row, error) {
	var raws, engs, ratios []float64
	for range repeat + 1 { // the first pair warms up
		r, err := raw.Decode(n, promptTokens, tokens)
		if err != nil {
			return row{}, fmt.Errorf("measure raw loop: %w", err)
		}
		e, err := decode(raw, eng, n, tokens)
		if err != nil {
			return row{}, fmt.Errorf("measure engine: %w", err)
		}
		raws, engs, ratios = append(raws, r.PerSecond()), append(engs, e), append(ratios, e/r.PerSecond())
	}
	return row{n, median(raws[1:]), median(engs[1:]), median(ratios[1:])}, nil
}

// decode runs n streams and returns the tokens per second while all of them decode: from the moment at which each has a token until
// the first one ends. Before that there is prefill, and after it there are fewer rows than the raw loop has.
func decode(raw *rawloop.Loop, eng *engine.Engine, n, tokens int) (float64, error) {
	var streams []*engine.Stream
	for i := range n {
		s, err := eng.Submit(engine.Request{ID: strconv.Itoa(i), Prompt: raw.Prompt(i, promptTokens), MaxTokens: tokens + 1, IgnoreEOS: true})
		if err != nil {
			return 0, err
		}
		streams = append(streams, s)
	}
	var c counted
	var wg sync.WaitGroup
	for _, s := range streams {
		wg.Go(func() { c.count(s, n, tokens+1) })
	}
	wg.Wait()
	for _, s := range streams {
		<-s.Done()
		if r := s.Result(); r.OutputTokens != tokens+1 {
			return 0, fmt.Errorf("a stream ended as %v after %d tokens: %v", r.Outcome, r.OutputTokens, r.Err)
		}
	}
	if c.tokens == 0 {
		return 0, fmt.Errorf("the first of %d streams ended before the last one had begun: give them more --tokens", n)
	}
	return float64(c.tokens) / c.to.Sub(c.from).Seconds(), nil
}

// counted is the tokens that come while all streams decode.
type counted struct {
	mu       sync.Mutex
	started  int
	over     bool
	tokens   int
	from, to time.Time
}

// count reads one of n streams, which has so many tokens.
func (c *counted) count(s *engine.Stream, n, tokens int) {
	got := 0
	for ev := range s.Events() {
		c.mu.Lock()
		if c.started == n && !c.over {
			c.tokens += ev.Tokens
			c.to = time.Now()
		}
		if got == 0 && ev.Tokens > 0 {
			if c.started++; c.started == n {
				c.from = time.Now()
			}
		}
		got += ev.Tokens
		c.over = c.over || got >= tokens
		c.mu.Unlock()
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
