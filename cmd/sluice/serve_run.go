package main

import (
	"context"
	"errors"
	"fmt"
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

// sameSignal is how soon after the first a further interrupt counts as the same: one that is sent to the process and to its
// group arrives twice.
const sameSignal = 200 * time.Millisecond

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
		for at := time.Now(); time.Since(at) < sameSignal; {
			<-signals
		}
		fmt.Fprintln(t.err, "sluice: ended at once")
		os.Exit(exitFailed)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// api is what answers on the serving listener.
type api interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// listeners are the two open addresses and what answers there.
type listeners struct {
	parts              *parts
	servingLn, adminLn net.Listener
	serving, adminURL  string
	api                api
	ops                *admin.Server
}

// listen opens both addresses.
func listen(p *parts, t terminal) (*listeners, error) {
	token, err := admin.ReadToken(p.cfg.Admin.TokenFile, t.env)
	if err != nil {
		return nil, err
	}
	l := &listeners{parts: p}
	if l.adminLn, err = admin.Listen(p.cfg.Admin.Listen, token); err != nil {
		return nil, fmt.Errorf("%w (--admin names another address)", err)
	}
	if l.servingLn, err = listenServing(p.cfg.Listen); err != nil {
		return nil, errors.Join(fmt.Errorf("%w (--listen names another address)", err), l.adminLn.Close())
	}
	l.serving, l.adminURL = "http://"+l.servingLn.Addr().String(), "http://"+l.adminLn.Addr().String()
	l.api = newAPI(p)
	l.ops = admin.New(admin.Options{
		Token: token, Policies: p.policies, Traces: p.traces, Metrics: p.metrics.Handler(), Wall: p.wall, Log: p.log,
		Status: func(ctx context.Context) (admin.Status, error) { return p.status(ctx, l.serving) },
	})
	return l, nil
}

// run serves until ctx ends, then drains: what runs is finished or, at the drain's own limit, ended as drained; then
// the listeners close.
func (l *listeners) run(ctx context.Context, t terminal) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.api.Serve(l.servingLn) })
	g.Go(func() error { return l.ops.Serve(l.adminLn) })
	g.Go(func() error {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.Background(), time.Duration(l.parts.cfg.Limits.DrainTimeout))
		defer cancel()
		l.parts.engine.Drain(drain)
		grace, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		return errors.Join(l.api.Shutdown(grace), l.ops.Shutdown(grace))
	})
	l.parts.banner(t, l.serving, l.adminURL)
	fmt.Fprintf(t.out, "serving %s\nadmin %s\n", l.serving, l.adminURL)
	return g.Wait()
}
