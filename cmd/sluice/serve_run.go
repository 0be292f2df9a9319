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

// serve runs until the first interrupt and a drain, or until a listener fails. The addresses are taken first: what is taken
// already is known before a model is loaded.
func serve(t terminal, load func() (*config.Config, error)) error {
	cfg, err := load()
	if err != nil {
		return usageError{err}
	}
	log, level, err := newLogger(t, cfg.Log)
	if err != nil {
		return usageError{err}
	}
	r := &reloader{load: load, level: level, log: log}
	given := *cfg
	r.now.Store(&given) // before folders that nobody named are filled in
	defer r.catchHangups()()
	ctx, stop := onInterrupt(t, r.drainGrace)
	defer stop()
	l, err := listen(cfg, t)
	if err != nil {
		return usageError{errors.Join(err, l.close())}
	}
	p, err := openParts(ctx, cfg, log, t.env)
	if ctx.Err() != nil {
		return errors.Join(errors.New("interrupted while starting"), err, l.close())
	}
	if err != nil {
		return usageError{errors.Join(err, l.close())}
	}
	if err := l.serve(p, r); err != nil {
		return usageError{errors.Join(err, l.close(), p.closers.close())}
	}
	return errors.Join(l.run(ctx, t), l.close(), p.closers.close())
}

// onInterrupt returns a context that the first SIGINT or SIGTERM ends. The second one ends the process. New requests are still
// taken for the grace.
func onInterrupt(t terminal, grace func() time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Fprintf(t.err, "sluice: draining: what runs is finished, nothing new is taken%s; a second Ctrl-C ends at once\n", after(grace()))
		cancel()
		for at := time.Now(); time.Since(at) < sameSignal; {
			<-signals
		}
		fmt.Fprintln(t.err, "sluice: ended at once")
		os.Exit(exitFailed)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// after says when nothing new is taken any more.
func after(grace time.Duration) string {
	if grace == 0 {
		return ""
	}
	return fmt.Sprintf(" after %s (limits.drain_grace)", grace)
}

// listeners are the two open addresses and what answers there.
type listeners struct {
	token             string
	servingLn         net.Listener
	adminLn           net.Listener
	serving, adminURL string
	parts             *parts
	api               *server.Server
	ops               *admin.Server
	config            *reloader
}

// listen opens both addresses. Nothing answers there before serve and run. After an error what was opened is still open.
func listen(cfg *config.Config, t terminal) (l *listeners, err error) {
	l = &listeners{}
	if l.token, err = admin.ReadToken(cfg.Admin.TokenFile, t.env); err != nil {
		return l, err
	}
	if l.adminLn, err = admin.Listen(cfg.Admin.Listen, l.token); err != nil {
		return l, fmt.Errorf("%w (--admin names another address)", err)
	}
	if l.servingLn, err = server.Listen(cfg.Listen); err != nil {
		return l, fmt.Errorf("%w (--listen names another address)", err)
	}
	l.serving, l.adminURL = "http://"+l.servingLn.Addr().String(), "http://"+l.adminLn.Addr().String()
	if _, ok := admin.SocketPath(cfg.Admin.Listen); ok {
		l.adminURL = cfg.Admin.Listen
	}
	return l, nil
}

// serve builds what answers.
func (l *listeners) serve(p *parts, r *reloader) (err error) {
	l.parts, l.config = p, r
	l.api, err = server.New(server.Config{
		Engine: p.engine, Tokenizer: p.tokenizer, Info: p.device.Info(), MaxModelLen: p.sched.ContextTokens,
		Classes: classNames(p.cfg), Metrics: p.metrics, BodyLimit: p.cfg.Limits.BodyBytes, Log: p.log,
		Ready: p.engine.Ready, Settings: serverSettings(p.cfg),
	})
	if err != nil {
		return err
	}
	r.parts, r.api = p, l.api
	o := admin.Options{
		Token: l.token, Policies: p.registry, Traces: p.traces, Metrics: p.metrics.Handler(), Wall: p.wall, Log: p.log,
		Config:       r,
		SettingsHint: func(set map[string]string) string { return config.ClassHint(set, classNames(p.cfg)) },
		Status:       func(ctx context.Context) (admin.Status, error) { return p.status(ctx, l.serving) },
	}
	if p.audit != nil {
		o.Audit = p.audit
	}
	l.ops = admin.New(o)
	return nil
}

// close frees the addresses, as the servers do that run on them.
func (l *listeners) close() error {
	var errs []error
	for _, ln := range []net.Listener{l.servingLn, l.adminLn} {
		if ln != nil {
			errs = append(errs, closed(ln.Close()))
		}
	}
	return errors.Join(errs...)
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
	if dir := l.parts.cfg.PolicyFolder; dir != "" {
		g.Go(func() error { return l.parts.registry.Watch(ctx, dir) })
	}
	g.Go(func() error { return l.config.onHangup(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		return l.stop()
	})
	l.parts.banner(t, l.serving, l.adminURL)
	fmt.Fprintf(t.out, "serving %s\nadmin %s\n", l.serving, l.adminURL)
	return g.Wait()
}

// stop makes readiness fail, waits until load balancers have seen that, refuses what is new, and waits for what runs.
func (l *listeners) stop() error {
	limit := time.Duration(l.config.now.Load().Limits.DrainTimeout)
	l.api.Leave()
	time.Sleep(l.config.drainGrace())
	drain, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := l.api.Shutdown(drain)
	grace, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	return errors.Join(err, l.ops.Shutdown(grace))
}
