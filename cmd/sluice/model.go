package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/spf13/cobra"
)

func newModel(t terminal) *cobra.Command {
	return group("model", "Work on model files", newConvert(t), newMeasure(t))
}

func newConvert(t terminal) *cobra.Command {
	var o llama.ConvertOptions
	var libs string
	var noCheck bool
	cmd := &cobra.Command{
		Use:   "convert IN OUT --type TYPE",
		Short: "Write a GGUF file anew with its weights in another type",
		Long: `Convert writes the model IN to OUT with llama.cpp's own quantizer. The embedding, and with it the output
of a model that shares the two, stays at q8_0 unless named. A type for which the CPU has fast batch kernels
can multiply the tokens per second; fewer bits cost accuracy, and converting weights that are already
quantized costs some more: once OUT is written, the speed of both files and their perplexity on a short English
text are measured and shown.

Types: ` + strings.Join(llama.ConvertTypes(), " "),
		Example: "  sluice model convert SmolLM2-135M-Instruct.Q4_1.gguf fast.gguf --type iq4_nl",
		Args:    takes("IN", "OUT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Type == "" {
				return usageErrorf("convert needs --type, one of %s", strings.Join(llama.ConvertTypes(), " "))
			}
			if exists(args[1]) && !o.Overwrite {
				return usageErrorf("%s is there already: --force replaces it", args[1])
			}
			libs, _, err := llamaPaths(orDefault(libs, t.getenv("SLUICE_LLAMA_LIB")), args[0], llama.DeviceAuto)
			if err != nil {
				return usageError{err}
			}
			return convert(cmd.Context(), t, libs, args[0], args[1], o, !noCheck)
		},
	}
	p := cmd.Flags()
	p.StringVar(&o.Type, "type", "", "type of the weights (needed)")
	p.StringVar(&o.EmbeddingType, "embedding-type", "", "type of the token embedding (default q8_0, or the weights' where that is larger)")
	p.StringVar(&o.OutputType, "output-type", "", "type of the output matrix (default the embedding's)")
	p.IntVar(&o.Threads, "threads", 0, "threads (default one for each CPU)")
	p.BoolVar(&o.Overwrite, "force", false, "replace OUT if it is there")
	p.BoolVar(&noCheck, "no-check", false, "do not measure what was gained and lost")
	p.StringVar(&libs, "llama-lib", "", "folder of the llama.cpp libraries (default the one that set-up installed)")
	return cmd
}

// convert runs until it is done or interrupted; OUT appears whole or not at all.
func convert(ctx context.Context, t terminal, libs, in, out string, o llama.ConvertOptions, check bool) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	show := &progress{t: t, live: isTerminal(t.err)}
	err := llama.Convert(ctx, libs, in, out, o, show.tensor)
	show.end()
	switch {
	case errors.Is(err, llama.ErrUsage):
		return usageError{err}
	case err != nil:
		return err
	}
	if _, err = fmt.Fprintf(t.out, "wrote %s\n", out); err != nil || !check {
		return err
	}
	if err := showGain(ctx, t, libs, in, out, o.Threads); err != nil {
		fmt.Fprintf(t.err, "the file is written, but not checked: %v\n", err)
	}
	return nil
}

// progressEvery is how often progress is written where no line can be written over.
const progressEvery = 10 * time.Second

// progress shows tensors as they are done. tensor is called from one goroutine, end from another.
type progress struct {
	t    terminal
	live bool

	mu    sync.Mutex
	wrote time.Time
	ended bool
}

func (p *progress) tensor(done, total int, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
	case p.live:
		fmt.Fprintf(p.t.err, "\r\x1b[Kconverting: tensor %d of %d: %s", done, total, name)
	case time.Since(p.wrote) >= progressEvery || done == total:
		p.wrote = time.Now()
		fmt.Fprintf(p.t.err, "converting: tensor %d of %d\n", done, total)
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.live {
		fmt.Fprint(p.t.err, "\r\x1b[K")
	}
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v != zero {
		return v
	}
	return def
}
