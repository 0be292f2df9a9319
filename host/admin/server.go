package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v2/middleware/pprof"
	"github.com/gofiber/fiber/v2/middleware/recover"
)

// BodyLimit is the largest policy that can be pushed, in bytes.
const BodyLimit = 32 << 20

// Options are what the API shows and changes. Policies and Status are needed; what else is nil is not served.
type Options struct {
	Token    string // "" = none, for a loopback listener
	Policies Policies
	Traces   Traces
	Status   func(context.Context) (Status, error) // called with Policies left empty
	Wall     func(hostNS int64) time.Time          // turns the policy host's clock into time of day; nil shows none
	Metrics  http.Handler
	Log      *slog.Logger // nil = slog.Default
}

// Server is the API. Its methods may be called from any goroutine.
type Server struct {
	app *fiber.App
	o   Options
	log *slog.Logger
}

// New builds the API. It serves nothing before Serve.
func New(o Options) *Server {
	s := &Server{o: o, log: o.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.app = fiber.New(fiber.Config{
		AppName:               "sluice admin",
		DisableStartupMessage: true,
		Immutable:             true, // names and settings outlive their request
		BodyLimit:             BodyLimit,
		ReadTimeout:           time.Minute, // of a whole request, 32 MB of policy included
		IdleTimeout:           time.Minute,
		ErrorHandler:          s.handleError,
	})
	s.routes()
	return s
}

func (s *Server) routes() {
	s.app.Use(recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: s.logPanic}))
	s.app.Get("/healthz", func(c *fiber.Ctx) error { return c.SendString("ok\n") })
	s.app.Use(s.guardBrowser, s.authorize)
	s.app.Get("/v1/status", s.status)
	s.app.Get("/v1/policies", s.listPolicies)
	s.app.Put("/v1/policies/:name", s.pushPolicy)
	s.app.Post("/v1/policies/:name/rollback", s.rollbackPolicy)
	s.app.Delete("/v1/policies/:name", s.removePolicy)
	if s.o.Traces != nil {
		s.app.Get("/v1/traces", s.streamTraces)
	}
	if s.o.Metrics != nil {
		s.app.Get("/metrics", adaptor.HTTPHandler(s.o.Metrics))
	}
	s.app.Use(pprof.New())
	s.app.Use(func(c *fiber.Ctx) error {
		return problem(fiber.StatusNotFound, fmt.Sprintf("%s %s is not part of the admin API", c.Method(), c.Path()))
	})
}

func (s *Server) logPanic(c *fiber.Ctx, p any) {
	s.log.Error("admin handler panicked", "path", c.Path(), "panic", p)
}

// Serve answers on ln until Shutdown.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.app.Listener(ln); err != nil {
		return fmt.Errorf("serve admin API: %w", err)
	}
	return nil
}

// Shutdown closes the listener and waits for requests until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.app.ShutdownWithContext(ctx); err != nil {
		return fmt.Errorf("stop admin API: %w", err)
	}
	return nil
}
