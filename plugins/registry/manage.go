package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// step is what a host's method does to one policy.
type step func(ctx context.Context, name string) error

// simple is a change that one method of the host makes, and another one takes back. undo nil: it stays.
func (r *Registry) simple(ctx context.Context, op store.Op, name string, by By, run, undo func(*plugins.Host) step) (Result, error) {
	c := change{op: op, name: name, by: by}
	c.run = func(ctx context.Context, _ *plugins.PolicyInfo) error { return run(r.host.Load())(ctx, name) }
	if undo != nil {
		c.undo = func(ctx context.Context, _ *plugins.PolicyInfo) error { return undo(r.host.Load())(ctx, name) }
	}
	return r.do(ctx, c)
}

// The host's methods, so that the host need not be known yet.
func disable(h *plugins.Host) step  { return h.Disable }
func enable(h *plugins.Host) step   { return h.Enable }
func remove(h *plugins.Host) step   { return h.Remove }
func rollback(h *plugins.Host) step { return h.Rollback }
func unshadow(h *plugins.Host) step { return h.Unshadow }

// Promote puts a shadow into force. When that cannot be recorded, it is undone, and the shadow is gone.
func (r *Registry) Promote(ctx context.Context, name string, by By) (Result, error) {
	c := change{op: store.OpPromote, name: name, by: by}
	c.run = func(ctx context.Context, before *plugins.PolicyInfo) error {
		if before == nil || before.Shadow == nil {
			return fmt.Errorf("promote policy: %w: %q", plugins.ErrNoShadow, name)
		}
		if err := r.pinned(name, before.Shadow.Digest); err != nil {
			return err
		}
		return r.host.Load().Promote(ctx, name)
	}
	c.undo = func(ctx context.Context, before *plugins.PolicyInfo) error {
		return takeBack(ctx, r.host.Load(), before, name)
	}
	return r.do(ctx, c)
}

// Unshadow takes a shadow away, with its report. It stays done when it cannot be recorded: see ErrUnrecorded.
func (r *Registry) Unshadow(ctx context.Context, name string, by By) (Result, error) {
	return r.simple(ctx, store.OpUnshadow, name, by, unshadow, nil)
}

// Rollback puts the version before the present one back into force, also across a restart. Where there is none, the policy
// is removed and the native default decides. It stays done when it cannot be recorded: see ErrUnrecorded.
func (r *Registry) Rollback(ctx context.Context, name string, by By) (Result, error) {
	return r.simple(ctx, store.OpRollback, name, by, rollback, nil)
}

// Remove takes a policy out of the set, with its shadow. It stays done when it cannot be recorded: see ErrUnrecorded.
func (r *Registry) Remove(ctx context.Context, name string, by By) (Result, error) {
	return r.simple(ctx, store.OpRemove, name, by, remove, nil)
}

// Disable keeps a policy in the set and has the native default decide in its place. It stays done when it cannot be
// recorded: see ErrUnrecorded.
func (r *Registry) Disable(ctx context.Context, name string, by By) (Result, error) {
	return r.simple(ctx, store.OpDisable, name, by, disable, nil)
}

// Enable lets a disabled policy decide again. When that cannot be recorded, it is undone.
func (r *Registry) Enable(ctx context.Context, name string, by By) (Result, error) {
	return r.simple(ctx, store.OpEnable, name, by, enable, disable)
}

// Order puts the chain into an order. names are those of all policies in the set. When that cannot be recorded, it is undone.
func (r *Registry) Order(ctx context.Context, names []string, by By) (Result, error) {
	var before []string
	c := change{op: store.OpOrder, by: by}
	c.run = func(ctx context.Context, _ *plugins.PolicyInfo) error {
		before = namesOf(r.host.Load())
		err := r.host.Load().Order(ctx, names)
		if errors.Is(err, plugins.ErrOrder) {
			return fmt.Errorf("%w: %w", ErrRequest, err)
		}
		return err
	}
	c.undo = func(ctx context.Context, _ *plugins.PolicyInfo) error { return r.host.Load().Order(ctx, before) }
	return r.do(ctx, c)
}

func namesOf(host *plugins.Host) (names []string) {
	for _, i := range host.List() {
		names = append(names, i.Name)
	}
	return names
}

// SafeMode makes the native defaults decide at every hook, or ends that; it outlives a restart. Switching it on waits for no
// other change, and stays done when it cannot be recorded: see ErrUnrecorded.
func (r *Registry) SafeMode(ctx context.Context, on bool, by By) (Result, error) {
	host, err := r.started()
	if err != nil {
		return Result{}, err
	}
	if err := by.check(); err != nil {
		return Result{}, err
	}
	early := on && by.IfMatch == 0
	if early { // somebody may hold the place for a change and wait for the loop
		if err := host.SafeMode(ctx, true); err != nil {
			return Result{}, err
		}
	}
	c := change{op: store.OpSafeOff, by: by}
	if on {
		c.op = store.OpSafeOn
	} else {
		c.undo = func(ctx context.Context, _ *plugins.PolicyInfo) error { r.safe = true; return host.SafeMode(ctx, true) }
	}
	c.run = func(ctx context.Context, _ *plugins.PolicyInfo) error {
		if err := host.SafeMode(ctx, on); err != nil {
			return err
		}
		r.safe = on
		return nil
	}
	res, err := r.do(ctx, c)
	if early && err != nil && !errors.Is(err, ErrUnrecorded) {
		err = fmt.Errorf("%s: %w: %w", c.op, ErrUnrecorded, err)
	}
	return res, err
}
