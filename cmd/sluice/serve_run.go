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
	"github.com/sluice-dev/sluice/host/server"
	"golang.org/x/sync/errgroup"
)

// closeGrace is how long the admin listener may take to close once nothing runs any more.
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

// listeners are the two open addresses and what answers there.
type listeners struct {
	parts             *parts
	servingLn         net.Listener
	adminLn           net.Listener
	serving, adminURL string
	api               *server.Server
	ops               *admin.Server
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
	p.closers.push(func() error { return closed(l.adminLn.Close()) })
	if l.servingLn, err = server.Listen(p.cfg.Listen); err != nil {
		return nil, fmt.Errorf("%w (--listen names another address)", err)
	}
	p.closers.push(func() error { return closed(l.servingLn.Close()) })
	l.serving, l.adminURL = "http://"+l.servingLn.Addr().String(), "http://"+l.adminLn.Addr().String()
	l.api, err = server.New(server.Config{
		Engine: p.engine, Tokenizer: p.tokenizer, Info: p.device.Info(), MaxModelLen: p.sched.ContextTokens,
		Classes: classNames(p.cfg), Metrics: p.metrics, BodyLimit: p.cfg.Limits.BodyBytes, Log: p.log,
	})
	l.ops = admin.New(admin.Options{
		Token: token, Policies: p.policies, Traces: p.traces, Metrics: p.metrics.Handler(), Wall: p.wall, Log: p.log,
		Status: func(ctx context.Context) (admin.Status, error) { return p.status(ctx, l.serving) },
	})
	return l, err
}

// closed takes it for a success that a listener was closed before.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// run serves until ctx ends, then drains. The admin API answers until everything has ended.
func (l *listeners) run(ctx context.Context, t terminal) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.api.Serve(l.servingLn) })
	g.Go(func() error { return l.ops.Serve(l.adminLn) })
	g.Go(func() error {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.Background(), time.Duration(l.parts.cfg.Limits.DrainTimeout))
		defer cancel()
		err := l.api.Shutdown(drain)
		grace, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		return errors.Join(err, l.ops.Shutdown(grace))
	})
	l.parts.banner(t, l.serving, l.adminURL)
	fmt.Fprintf(t.out, "serving %s\nadmin %s\n", l.serving, l.adminURL)
	return g.Wait()
}
