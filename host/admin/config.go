package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gofiber/fiber/v2"
)

// Setting is one value of the server's configuration, with where it comes from. No value is a secret.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // "default", "FILE:LINE", "$NAME" or "--flag"
}

// ConfigValues is the answer of GET /v1/config: what is in force, in the order of the file.
type ConfigValues struct {
	Settings []Setting `json:"settings"`
}

// Change is one value of the configuration that is another now; "" stands for none.
type Change struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Reload is the answer of POST /v1/config/reload.
type Reload struct {
	DryRun       bool     `json:"dry_run"`
	Changed      []Change `json:"changed"`       // in force now, or would be
	NeedsRestart []Change `json:"needs_restart"` // cannot change while the server runs: still as it was
}

// Configuration is what a server was told. Its methods may be called from any goroutine.
type Configuration interface {
	// Settings are the values in force.
	Settings() []Setting
	// Reload reads the configuration again and puts in force what can change, all or nothing. A configuration that is wrong is a
	// *ConfigError.
	Reload(ctx context.Context, dryRun bool) (Reload, error)
}

// ConfigError is a configuration that cannot be used; its text says where it is wrong.
type ConfigError struct{ Err error }

// Error is the reason, with its place.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap is the reason.
func (e *ConfigError) Unwrap() error { return e.Err }

func (s *Server) configRoutes() {
	if s.o.Config == nil {
		return
	}
	s.app.Get("/v1/config", func(c *fiber.Ctx) error { return c.JSON(ConfigValues{s.o.Config.Settings()}) })
	s.app.Post("/v1/config/reload", s.reloadConfig)
}

func (s *Server) reloadConfig(c *fiber.Ctx) error {
	dry, err := readDryRun(c)
	if err != nil {
		return err
	}
	done, err := s.o.Config.Reload(c.UserContext(), dry)
	var wrong *ConfigError
	switch {
	case errors.As(err, &wrong):
		return problem(http.StatusUnprocessableEntity, CodeConfig, wrong.Error())
	case err != nil:
		return fmt.Errorf("reload configuration: %w", err)
	}
	return c.JSON(done)
}
