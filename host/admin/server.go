package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v2/middleware/pprof"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/sluice-dev/sluice/docs"
	"github.com/valyala/fasthttp"
)

// maxHeader bounds the request line and headers, in bytes. A policy's settings are in the request line.
const maxHeader = 16 << 10

// Options are what the API shows and changes. Policies and Status are needed; what else is nil is not served.
type Options struct {
	Token    string // "" = none, for a loopback listener
	Policies Policies
	Traces   Traces
	Config   Configuration
	Status   func(context.Context) (Status, error) // called with Policies left empty
	Wall     func(hostNS int64) time.Time          // turns the policy host's clock into time of day; nil shows none
	Metrics  http.Handler
	Audit    Auditor // nil = the log alone
	// SettingsHint says what may have been meant by settings that a policy refuses, to stand behind its message; nil = nothing.
	SettingsHint func(map[string]string) string
	Log          *slog.Logger // nil = slog.Default
}

// Server is the API. Its methods may be called from any goroutine.
type Server struct {
	app *fiber.App
	o   Options
	log *slog.Logger

	flood flood
}

// New builds the API. It serves nothing before Serve.
func New(o Options) *Server {
	s := &Server{o: o, log: o.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.app = fiber.New(fiber.Config{
		AppName:                      "sluice admin",
		DisableStartupMessage:        true,
		Immutable:                    true, // names and settings outlive their request
		CaseSensitive:                true,
		StreamRequestBody:            true, // a body is read by its handler, which knows who sends it
		DisablePreParseMultipartForm: true,
		BodyLimit:                    BodyLimit,
		ReadBufferSize:               maxHeader,
		ReadTimeout:                  time.Minute, // of a whole request, 32 MB of policy included
		IdleTimeout:                  time.Minute,
		ErrorHandler:                 s.handleError,
	})
	s.routes()
	known := s.app.Server().Handler
	s.app.Server().Handler = func(ctx *fasthttp.RequestCtx) {
		if slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			known(ctx)
		} else {
			s.refuseMethod(ctx)
		}
	}
	return s
}

// refuseMethod answers what the router would answer with plain text.
func (s *Server) refuseMethod(ctx *fasthttp.RequestCtx) {
	c := s.app.AcquireCtx(ctx)
	defer s.app.ReleaseCtx(c)
	p := problem(http.StatusNotImplemented, CodeUnknownMethod, "HTTP has no such method")
	if err := s.handleError(c, p); err != nil {
		s.log.Error("admin request failed", "error", err)
	}
}

func (s *Server) routes() {
	s.app.Use(s.record)
	s.app.Use(recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: s.logPanic}))
	s.app.Get("/healthz", func(c *fiber.Ctx) error { return c.SendString("ok\n") })
	s.app.Use(s.guardBrowser, s.authorize)
	s.app.Get("/openapi.json", sendOpenAPI)
	s.app.Get("/v1/status", s.status)
	s.policyRoutes()
	s.configRoutes()
	if s.o.Traces != nil {
		s.app.Get("/v1/traces", s.streamTraces)
	}
	if s.o.Metrics != nil {
		s.app.Get("/metrics", adaptor.HTTPHandler(s.o.Metrics))
	}
	s.app.Get("/debug/pprof/*", pprof.New())
}

// sendOpenAPI shows what this API is made of.
func sendOpenAPI(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(docs.OpenAPI)
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
