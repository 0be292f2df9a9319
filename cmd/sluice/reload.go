package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/host/admin"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/server"
)

// reloader takes over what changed in the configuration while the server runs. Its methods may be called from any goroutine.
type reloader struct {
	load  func() (*config.Config, error) // file, environment and flags, as at the start
	level *slog.LevelVar
	log   *slog.Logger

	hangups chan os.Signal

	mu    sync.Mutex // one reload at a time
	now   atomic.Pointer[config.Config]
	parts *parts
	api   *server.Server
}

// Settings implements admin.Configuration.
func (r *reloader) Settings() []admin.Setting { return r.now.Load().Settings() }

// drainGrace is how long requests are still taken after the first interrupt.
func (r *reloader) drainGrace() time.Duration { return time.Duration(r.now.Load().Limits.DrainGrace) }

// Reload implements admin.Configuration. All that can change is changed at once, between two steps; an error changes nothing.
func (r *reloader) Reload(ctx context.Context, dryRun bool) (admin.Reload, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.load()
	if err != nil {
		return admin.Reload{}, &admin.ConfigError{Err: err}
	}
	now := r.now.Load()
	adopted := now.Adopt(next)
	done := admin.Reload{DryRun: dryRun, Changed: now.Changes(adopted), NeedsRestart: adopted.Changes(next)}
	if dryRun || len(done.Changed) == 0 {
		return done, nil
	}
	if err := r.apply(ctx, adopted); err != nil {
		return admin.Reload{}, err
	}
	r.now.Store(adopted)
	return done, nil
}

func (r *reloader) apply(ctx context.Context, cfg *config.Config) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return fmt.Errorf("set log level: %w", err)
	}
	limits := r.parts.limits(cfg)
	if err := r.parts.engine.SetSched(ctx, limits); err != nil {
		return fmt.Errorf("reload configuration: %w", err)
	}
	if err := r.api.Set(serverSettings(cfg)); err != nil {
		return fmt.Errorf("reload configuration: %w", err)
	}
	r.level.Set(level)
	return nil
}

// limits is the scheduler's configuration under cfg. What cannot change is as it was at the start.
func (p *parts) limits(cfg *config.Config) sched.Config {
	c := schedConfig(cfg, p.device.Info())
	c.Seed, c.Costs = p.sched.Seed, p.sched.Costs
	return c
}

// serverSettings is what of the configuration the API follows while it serves.
func serverSettings(cfg *config.Config) server.Settings {
	s := server.Settings{EarlyHeaders: time.Duration(cfg.Streams.EarlyHeaders), KeepAlive: time.Duration(cfg.Streams.KeepAlive), DrainingStatus: cfg.Statuses.Draining}
	if s.EarlyHeaders <= 0 {
		s.EarlyHeaders = -1
	}
	for i, c := range cfg.Classes {
		s.QueueTTL[i] = time.Duration(c.QueueTTL)
	}
	return s
}

// catchHangups makes SIGHUP harmless until stop: one that comes while the server starts is kept for onHangup, one that comes
// during the drain changes nothing.
func (r *reloader) catchHangups() (stop func()) {
	r.hangups = make(chan os.Signal, 1)
	signal.Notify(r.hangups, syscall.SIGHUP)
	return func() { signal.Stop(r.hangups) }
}

// onHangup reloads at each SIGHUP until ctx ends.
func (r *reloader) onHangup(ctx context.Context) error {
	for {
		select {
		case <-r.hangups:
			r.report(r.Reload(ctx, false))
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *reloader) report(done admin.Reload, err error) {
	switch {
	case err != nil:
		r.log.Error("the configuration was not reloaded: what was in force stays", "error", err)
	default:
		r.log.Info("the configuration was reloaded", "changed", keysOf(done.Changed), "needs_restart", keysOf(done.NeedsRestart))
	}
}

func keysOf(changes []admin.Change) string {
	keys := make([]string, len(changes))
	for i, c := range changes {
		keys[i] = c.Key
	}
	return strings.Join(keys, " ")
}

var _ admin.Configuration = (*reloader)(nil)
