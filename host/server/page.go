package server

import (
	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/host/metrics"
)

// metrics is the Prometheus page. A part that cannot be gathered is missing from it; the rest is shown.
func (s *Server) metrics(c *fiber.Ctx) error {
	page, err := s.cfg.Metrics.Text()
	if err != nil {
		s.log.Warn("metrics are incomplete", "error", err)
	}
	c.Set(fiber.HeaderContentType, metrics.ContentType)
	return c.Send(page)
}
