package server

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"
)

// guard stands before every route: it names the request, counts the answer, and keeps a panic from ending the process.
func (s *Server) guard(c *fiber.Ctx) (err error) {
	id := requestID(c)
	c.Set(headerRequestID, id)
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(c.Path(), id, p)
		}
		if err != nil {
			if err = s.handleError(c, err); err != nil {
				err = fmt.Errorf("write error response: %w", err)
			}
		}
		s.cfg.Metrics.Response(c.Route().Path, c.Response().StatusCode())
		if s.draining.Load() {
			c.Context().SetConnectionClose()
		}
	}()
	return c.Next()
}

// panicked logs a bug and is what its client gets to see.
func (s *Server) panicked(route, id string, p any) *apiError {
	s.cfg.Metrics.Panic()
	s.log.Error("handler panicked", "route", route, "request_id", id, "panic", p, "stack", string(debug.Stack()))
	return internalError()
}

func (s *Server) alive(c *fiber.Ctx) error { return c.SendString("ok\n") }

// ready tells a load balancer whether to send requests.
func (s *Server) ready(c *fiber.Ctx) error {
	if s.draining.Load() || s.leaving.Load() {
		return c.Status(http.StatusServiceUnavailable).SendString("draining\n")
	}
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(); err != nil {
			return c.Status(http.StatusServiceUnavailable).SendString(err.Error() + "\n")
		}
	}
	return c.SendString("ready\n")
}
