package llama

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu/llama/internal/gguf"
)

// ConvertOptions say how to convert. Type is required.
type ConvertOptions struct {
	Type          string // weights, one of ConvertTypes
	EmbeddingType string // token embedding; default: q8_0 when Type is smaller than that, else as Type
	OutputType    string // output matrix; default as EmbeddingType. Models with tied embeddings have none
	Threads       int    // default: the CPUs that this process may use
	Overwrite     bool   // replace a file that is there
	Log           *slog.Logger
}

// Convert writes the model in file in to file out with its weights in another type, with llama.cpp's own quantizer. The
// output appears whole or not at all. progress, which may be nil, is called from another goroutine after each tensor.
//
// Errors wrap ErrUsage when in is missing or no model, when out is there already, or when a type is unknown. The library
// cannot be interrupted: when ctx ends Convert returns at once, and the work goes on unseen until it is done or the
// process ends.
func Convert(ctx context.Context, libDir, in, out string, o ConvertOptions, progress func(done, total int, tensor string)) error {
	p, err := o.params()
	if err != nil {
		return err
	}
	if err := checkFiles(in, out, o.Overwrite); err != nil {
		return err
	}
	if err := LoadLibrary(libDir, o.Log); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*.partial")
	if err != nil {
		return usagef("create output: %w", err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if err := runQuantizer(ctx, in, tmp.Name(), p, o.Log, progress); err != nil {
		return fmt.Errorf("convert %s: %w", in, err)
	}
	return publish(tmp, out)
}

func checkFiles(in, out string, overwrite bool) error {
	if _, err := gguf.ReadFile(in); err != nil {
		return headerError(in, err)
	}
	st, err := os.Stat(out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return usagef("look at output %s: %w", out, err)
	case st.IsDir():
		return usagef("output %s is a folder: name a file", out)
	case !overwrite:
		return usagef("output %s is there already: name another file, or ask to overwrite it", out)
	}
	if src, err := os.Stat(in); err == nil && os.SameFile(src, st) {
		return usagef("input and output are the same file, %s", in)
	}
	return nil
}

// publish makes what the library wrote durable, readable as any new file, and gives it its name.
func publish(tmp *os.File, out string) error {
	if _, err := gguf.ReadFile(tmp.Name()); err != nil {
		return fmt.Errorf("check output: %w", err)
	}
	if err := tmp.Chmod(0o644); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if err := tmp.Sync(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if err := os.Rename(tmp.Name(), out); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

var tensorLine = regexp.MustCompile(`^\[\s*(\d+)/\s*(\d+)\]\s+(\S+)`)

// runQuantizer runs the library in a goroutine that outlives it when ctx ends first.
func runQuantizer(ctx context.Context, in, out string, p *capi.ModelQuantizeParams, log *slog.Logger, progress func(int, int, string)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var silent atomic.Bool
	stop := sink.listen(func(level capi.LogLevel, line string) {
		if silent.Load() {
			return
		}
		if m := tensorLine.FindStringSubmatch(line); m != nil && progress != nil {
			done, _ := strconv.Atoi(m[1])
			total, _ := strconv.Atoi(m[2])
			progress(done, total, m[3])
		}
		if strings.Contains(line, "required fallback quantization") && log != nil {
			log.Warn("some tensors have rows that do not fit the type and were given another one", "llama", strings.TrimSpace(line))
		}
	})
	done := make(chan error, 1)
	go func() {
		defer stop()
		var rc uint32
		why := explain(func() { rc = capi.ModelQuantize(in, out, p) })
		if rc == 0 {
			done <- nil
			return
		}
		done <- usagef("llama.cpp failed with code %d: %s", rc, why)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		silent.Store(true)
		return ctx.Err()
	}
}

func (o ConvertOptions) params() (*capi.ModelQuantizeParams, error) {
	if o.Threads < 0 || o.Threads > runtime.NumCPU() {
		return nil, usagef("%d threads are asked for: use 1 to %d, the CPUs that this process may use", o.Threads, runtime.NumCPU())
	}
	setDefault(&o.Threads, max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))))
	body, err := lookUpType(o.Type)
	if err != nil {
		return nil, err
	}
	if o.EmbeddingType == "" {
		o.EmbeddingType = o.Type
		if body.bits < 8 {
			o.EmbeddingType = "q8_0"
		}
	}
	setDefault(&o.OutputType, o.EmbeddingType)
	embedding, err := lookUpType(o.EmbeddingType)
	if err != nil {
		return nil, err
	}
	output, err := lookUpType(o.OutputType)
	if err != nil {
		return nil, err
	}
	return &capi.ModelQuantizeParams{
		NThread: int32(o.Threads), Ftype: body.file, AllowRequantize: 1, QuantizeOutputTensor: 1, Pure: 1,
		TokenEmbeddingType: int32(embedding.tensor), OutputTensorType: int32(output.tensor),
	}, nil
}
