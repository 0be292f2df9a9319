package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// undoTime is how long undoing a change may wait for the loop.
const undoTime = 30 * time.Second

// change is one change on its way.
type change struct {
	op       store.Op
	name     string // of the policy; "" where all are meant
	by       By
	signedBy string
	run      func(ctx context.Context, before *plugins.PolicyInfo) error // does it to the host
	// undo takes it back when it cannot be recorded. nil: it stays, since it makes the server safer.
	undo func(ctx context.Context, before *plugins.PolicyInfo) error
}

// do makes one change.
func (r *Registry) do(ctx context.Context, c change) (Result, error) {
	host, err := r.started()
	if err != nil {
		return Result{}, err
	}
	if err := c.by.check(); err != nil {
		return Result{}, err
	}
	if err := r.hold(ctx); err != nil {
		return Result{}, err
	}
	defer r.release()
	if err := r.match(c.by); err != nil {
		return Result{}, err
	}
	before, last := find(host, c.name), r.last
	if err := c.run(ctx, before); err != nil {
		return Result{}, err
	}
	e := r.entry(c, before, find(host, c.name))
	set, err := r.project(c.name)
	if err != nil {
		return Result{}, err
	}
	if c.op != store.OpShadow && len(r.unsaved) == 0 && same(set, r.set) {
		return r.result(host, Entry{}, c.name), nil
	}
	r.unsaved = append(r.unsaved, e)
	e, err = r.flush(set)
	if err == nil {
		return r.result(host, e, c.name), nil
	}
	res, undone, err := r.unrecorded(ctx, host, c, before, err)
	if undone {
		r.last = last
	}
	return res, err
}

// unrecorded takes a change back that could not be recorded, or says that it stays. It is the last of unsaved.
func (r *Registry) unrecorded(ctx context.Context, host *plugins.Host, c change, before *plugins.PolicyInfo, why error) (res Result, undone bool, err error) {
	last := len(r.unsaved) - 1
	if c.undo != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		err := c.undo(ctx, before)
		if err == nil {
			r.unsaved = r.unsaved[:last]
			r.count()
			return Result{}, true, fmt.Errorf("%s of policy %s: %w: %w", c.op, c.name, ErrUndone, why)
		}
		why = errors.Join(why, fmt.Errorf("undo it: %w", err))
	}
	r.count()
	return r.result(host, r.unsaved[last], c.name), false, fmt.Errorf("%s: %w: %w", c.op, ErrUnrecorded, why)
}

// match compares the revision that a caller saw with the one in force.
func (r *Registry) match(by By) error {
	if have := r.revision.Load(); by.IfMatch != 0 && by.IfMatch != have {
		return &StaleError{Want: by.IfMatch, Have: have}
	}
	return nil
}

func (by *By) check() error {
	switch {
	case len(by.Who) > MaxWho:
		return fmt.Errorf("%w: who has %d bytes, and %d are allowed", ErrRequest, len(by.Who), MaxWho)
	case len(by.Why) > MaxWhy:
		return fmt.Errorf("%w: why has %d bytes, and %d are allowed", ErrRequest, len(by.Why), MaxWhy)
	}
	return nil
}

// nobody stands in the history for a caller that gave no name.
const nobody = "unknown"

// entry describes a change that has been made.
func (r *Registry) entry(c change, before, after *plugins.PolicyInfo) Entry {
	e := Entry{At: r.now(), Who: c.by.Who, Why: c.by.Why, Op: c.op, Name: c.name, SignedBy: c.signedBy}
	if e.Who == "" {
		e.Who = nobody
	}
	shadow := c.op == store.OpShadow
	if after != nil && shadow && after.Shadow != nil {
		e.Digest, e.Config = after.Shadow.Digest, after.Shadow.Config
	} else if after != nil && c.op != store.OpUnshadow {
		e.Digest, e.Config = after.Digest, after.Config
	}
	switch {
	case before == nil:
	case shadow || c.op == store.OpUnshadow:
		e.Left = leftShadow(before.Shadow)
	case before.State != plugins.StateShadow && (after == nil || before.Version != after.Version):
		e.Left = left(before)
	}
	return e
}

// flush records the unsaved entries, and set with the first of them. It returns the last. What cannot be recorded stays.
func (r *Registry) flush(set *store.Manifest) (e Entry, err error) {
	defer r.count()
	for len(r.unsaved) > 0 {
		m := set
		if m != nil && same(m, r.set) || r.unsaved[0].Refused != "" {
			m = nil
		}
		if e, err = r.disk.Commit(m, r.unsaved[0]); err != nil {
			return e, err
		}
		if m != nil {
			r.set = m
		}
		r.unsaved = r.unsaved[1:]
		if r.opt.OnAudit != nil {
			r.opt.OnAudit(e)
		}
	}
	return e, nil
}

// count brings the revision up to date.
func (r *Registry) count() {
	n := r.disk.Revision()
	for _, e := range r.unsaved {
		if e.Refused == "" {
			n++
		}
	}
	r.revision.Store(n)
}

func (r *Registry) result(host *plugins.Host, e Entry, name string) Result {
	res := Result{Revision: r.revision.Load(), Unchanged: e.Op == "", Entry: e}
	if i := find(host, name); i != nil {
		res.Policy = *i
	} else {
		res.Policy = plugins.PolicyInfo{Name: name}
	}
	return res
}
