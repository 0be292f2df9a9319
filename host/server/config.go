package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/metrics"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Engine is what the server needs of an engine. Its methods may be called from any goroutine.
type Engine interface {
	// Now is a monotonic clock in nanoseconds.
	Now() int64
	// SubmitAll hands the choices of one request over, all or none. A rejection is the Result of a Stream, not an error.
	SubmitAll([]engine.Request) ([]*engine.Stream, error)
	// Drain refuses what is new and returns when everything has ended; what is left when ctx ends is ended as drained.
	Drain(ctx context.Context)
}

// Config is what a Server is made of. Engine, Tokenizer and Info are needed; the zero value of all else is a default.
type Config struct {
	Engine    Engine
	Tokenizer gpu.Tokenizer
	Info      gpu.Info

	MaxModelLen int      // tokens of one request, prompt and output; 0 = what context and KV cache allow
	Classes     []string // names by class index, the first is the default; nil = interactive, batch
	Metrics     *metrics.Metrics
	Ready       func() error // asked by /readyz, from any goroutine; nil = ready unless draining
	Log         *slog.Logger // nil = slog.Default

	BodyLimit   int           // bytes of one request; 0 = 4 MiB
	ReadTimeout time.Duration // of a whole request, body included; 0 = 30 s
	Settings    Settings      // those at the start; see Server.Set
}

// DefaultClasses are the classes of a server that names none.
func DefaultClasses() []string { return []string{"interactive", "batch"} }

func (c *Config) fill() error {
	if c.Engine == nil || c.Tokenizer == nil || c.Info.VocabSize < 1 {
		return fmt.Errorf("validate server: an engine, a tokenizer and the device's information are needed")
	}
	if c.MaxModelLen <= 0 {
		c.MaxModelLen = c.Info.ContextTokens
		if c.Info.KVTokens > 0 {
			c.MaxModelLen = min(c.MaxModelLen, c.Info.KVTokens)
		}
	}
	if c.MaxModelLen < 2 {
		return fmt.Errorf("validate server: a context of %d tokens holds no request", c.MaxModelLen)
	}
	if len(c.Classes) == 0 {
		c.Classes = DefaultClasses()
	}
	if len(c.Classes) > abi.Classes {
		return fmt.Errorf("validate server: %d classes, at most %d", len(c.Classes), abi.Classes)
	}
	if c.Metrics == nil {
		c.Metrics = metrics.New(metrics.Options{Model: c.Info.Model, Classes: c.Classes})
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = 30 * time.Second
	}
	if c.ReadTimeout < 0 {
		return fmt.Errorf("validate server: ReadTimeout must be positive")
	}
	if c.BodyLimit <= 0 {
		c.BodyLimit = 4 << 20
	}
	return nil
}
