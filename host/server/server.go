package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/host/grammar"
)

const (
	idleTimeout   = 75 * time.Second // of a kept-alive connection between two requests
	headerLimit   = 16 << 10         // bytes of a request's header; long tokens are common
	shutdownGrace = 5 * time.Second  // for writing out what has ended, after the drain
)

// Server is the API. Its methods may be called from any goroutine.
type Server struct {
	app      *fiber.App
	cfg      Config
	log      *slog.Logger
	chat     chatTemplate
	maxText  int         // bytes of a text that might fit the context
	leaving  atomic.Bool // readiness has failed for good; new requests are still taken
	draining atomic.Bool
	settings atomic.Pointer[Settings]

	vocabOnce sync.Once
	vocab     *grammar.Vocab

	mu      sync.Mutex
	ln      *listener // nil before Serve
	stopped bool      // Shutdown came, perhaps before Serve
}

// New builds the API. It serves nothing before Serve.
func New(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Log, chat: newChatTemplate(cfg.Tokenizer)}
	if err := s.Set(cfg.Settings); err != nil {
		return nil, err
	}
	s.maxText = cfg.MaxModelLen * longestToken(cfg.Tokenizer, cfg.Info.VocabSize)
	if err := s.chat.err; err != nil {
		s.log.Warn("chat completions are not served; /v1/completions is", "error", err)
	}
	s.app = fiber.New(fiber.Config{
		AppName:                      "sluice",
		DisableStartupMessage:        true,
		Immutable:                    true, // tenants, ids and classes outlive their request
		CaseSensitive:                true,
		DisablePreParseMultipartForm: true, // nothing here takes forms, and parsing them writes files
		BodyLimit:                    cfg.BodyLimit,
		StreamRequestBody:            true, // a body is read by requestBody, as it comes
		ReadBufferSize:               headerLimit,
		ReadTimeout:                  cfg.ReadTimeout,
		IdleTimeout:                  idleTimeout,
		ErrorHandler:                 s.handleError,
	})
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	s.app.Use(s.guard)
	s.app.Post(routeChat, s.completeChat)
	s.app.Post(routeCompletions, s.completeText)
	s.app.Get("/v1/models", s.listModels)
	s.app.Get("/v1/models/*", s.showModel)
	s.app.Post("/tokenize", s.tokenize)
	s.app.Get("/health", s.alive)
	s.app.Get("/healthz", s.alive)
	s.app.Get("/livez", s.alive)
	s.app.Get("/readyz", s.ready)
	s.app.Get("/metrics", s.metrics)
}

// ChatError says why chat completions are not served; nil when they are.
func (s *Server) ChatError() error { return s.chat.err }

// Serve answers on ln until Shutdown.
func (s *Server) Serve(ln net.Listener) error {
	l := newListener(ln)
	s.mu.Lock()
	s.ln = l
	stopped := s.stopped
	s.mu.Unlock()
	if stopped {
		_ = ln.Close()
		return nil
	}
	if err := s.app.Listener(l); err != nil {
		return fmt.Errorf("serve API: %w", err)
	}
	return nil
}

// Leave makes /readyz fail, so that load balancers send no more requests; those that come nevertheless are taken until Shutdown.
func (s *Server) Leave() { s.leaving.Store(true) }

// Shutdown refuses new requests with Settings.DrainingStatus and lets the others finish. When ctx ends first, the engine ends what is left, and
// its clients are told so. It returns when the listener is closed and every answer is written, or broken off after a
// grace of a few seconds.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.cfg.Engine.Drain(ctx)
	s.mu.Lock()
	ln := s.ln
	s.stopped = true
	s.mu.Unlock()
	if ln == nil {
		return nil
	}
	ln.stopReading()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	err := s.app.ShutdownWithContext(grace)
	_ = ln.Close() // the HTTP server does not know it yet when Serve has only just begun
	ln.closeAll()
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("answers were broken off: their clients did not read them", "after", shutdownGrace)
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop API: %w", err)
	}
	return nil
}
