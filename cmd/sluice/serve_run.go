package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/host/admin"
	"golang.org/x/sync/errgroup"
)

// closeGrace is how long the listeners may take to close once nothing runs any more.
const closeGrace = 5 * time.Second

// serve runs until the first interrupt and a drain, or until a listener fails.
func serve(t terminal, cfg *config.Config) error {
	log, err := newLogger(t, cfg.Log)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := onInterrupt(t)
	defer stop()
	p, err := openParts(ctx, cfg, log, t.env)
	if ctx.Err() != nil {
		return errors.Join(errors.New("interrupted while starting"), err)
	}
	if err != nil {
		return usageError{err}
	}
	l, err := listen(p, t)
	if err != nil {
		return usageError{errors.Join(err, p.closers.close())}
	}
	return errors.Join(l.run(ctx, t), p.closers.close())
}

// onInterrupt returns a context that the first SIGINT or SIGTERM ends. The second one ends the process.
func onInterrupt(t terminal) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Fprintln(t.err, "sluice: draining: what runs is finished, nothing new is taken; a second Ctrl-C ends at once")
		cancel()
		<-signals
		fmt.Fprintln(t.err, "sluice: ended at once")
		os.Exit(exitFailed)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// listeners are the two open addresses and what answers there.
type listeners struct {
	parts          *parts
	log            *slog.Logger
	serving, admin net.Listener
	api            *server.Server
	ops            *admin.Server
}

// listen opens both addresses, the admin's first: it is the one that is refused for being public.
func listen(p *parts, t terminal) (*listeners, error) {
	token, err := admin.ReadToken(p.cfg.Admin.TokenFile, t.env)
	if err != nil {
		return nil, err
	}
	l := &listeners{parts: p, log: p.log}
	if l.admin, err = admin.Listen(p.cfg.Admin.Listen, token); err != nil {
		return nil, err
	}
	return l, nil
}

// run serves until ctx ends, then drains.
func (l *listeners) run(ctx context.Context, t terminal) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.api.Serve(l.serving) })
	g.Go(func() error { return l.ops.Serve(l.admin) })
	g.Go(func() error {
		<-ctx.Done()
		return l.drain()
	})
	fmt.Fprintf(t.out, "serving http://%s\nadmin http://%s\n", l.serving.Addr(), l.admin.Addr())
	l.parts.banner(t, l.serving.Addr(), l.admin.Addr())
	return g.Wait()
}
