package main

import (
	"context"
	"fmt"
	"net"

	"github.com/gofiber/fiber/v2"
)

type tempAPI struct{ *fiber.App }

func (a tempAPI) Serve(ln net.Listener) error        { return a.Listener(ln) }
func (a tempAPI) Shutdown(ctx context.Context) error { return a.ShutdownWithContext(ctx) }

func newAPI(p *parts) api {
	return tempAPI{fiber.New(fiber.Config{DisableStartupMessage: true})}
}

func listenServing(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("open listener: %w", err)
	}
	return ln, nil
}
