package registry

import (
	"context"
	"errors"

	"github.com/sluice-dev/sluice/plugins"
)

// Registry changes the policies of a host and records it. Its methods may be called from any goroutine.
type Registry struct{}

var errUnfinished = errors.New("not built yet")

// Open opens or makes the store. The registry changes nothing before Start.
func Open(opt Options) (*Registry, error) { return nil, errUnfinished }

// OnEvent is for plugins.Options.OnEvent: what the host does to policies by itself is recorded as who "sluice".
func (r *Registry) OnEvent(e plugins.Event) {}

// Start puts the last good set of the store, else the configured policies into force: see the package comment. The host
// must have no policies yet, and no loop that calls Swap. safe starts in safe mode, for this run, until SafeMode ends it.
// An error means that configured policies were refused, or that the store cannot be written.
func (r *Registry) Start(ctx context.Context, host *plugins.Host, configured []plugins.Policy, safe bool) (Started, error) {
	return Started{}, errUnfinished
}

// Close writes what has not been recorded yet and closes the store. The host goes on. Close the host first: its last events
// are then recorded.
func (r *Registry) Close() error { return errUnfinished }

// Push puts a module into force, in the place of the one of the same name or at the end of the chain. It returns when the
// policy decides and that is durable; when it cannot be made durable, it is undone.
func (r *Registry) Push(ctx context.Context, req Request) (Result, error) {
	return Result{}, errUnfinished
}

// Check does all of a Push but the push: nothing changes and nothing is recorded. A module that is refused has a report too,
// in the *plugins.RefusedError.
func (r *Registry) Check(ctx context.Context, req Request) (plugins.Report, error) {
	return plugins.Report{}, errUnfinished
}

// Shadow puts a module beside the policy of its name, where it is asked and not obeyed. A restart forgets it.
func (r *Registry) Shadow(ctx context.Context, req Request) (Result, error) {
	return Result{}, errUnfinished
}

// Promote puts a shadow into force.
func (r *Registry) Promote(ctx context.Context, name string, by By) (Result, error) {
	return Result{}, errUnfinished
}

// Unshadow takes a shadow away.
func (r *Registry) Unshadow(ctx context.Context, name string, by By) (Result, error) {
	return Result{}, errUnfinished
}

// Rollback puts the version before the present one back into force, also across a restart. Where there is none, the policy
// is removed and the native default decides. It stays done when it cannot be recorded: see ErrUnrecorded.
func (r *Registry) Rollback(ctx context.Context, name string, by By) (Result, error) {
	return Result{}, errUnfinished
}

// Remove takes a policy out of the set, with its shadow. It stays done when it cannot be recorded: see ErrUnrecorded.
func (r *Registry) Remove(ctx context.Context, name string, by By) (Result, error) {
	return Result{}, errUnfinished
}

// Disable keeps a policy in the set and has the native default decide in its place. It stays done when it cannot be
// recorded: see ErrUnrecorded.
func (r *Registry) Disable(ctx context.Context, name string, by By) (Result, error) {
	return Result{}, errUnfinished
}

// Enable lets a disabled policy decide again.
func (r *Registry) Enable(ctx context.Context, name string, by By) (Result, error) {
	return Result{}, errUnfinished
}

// Order puts the chain into an order. names are those of all policies in the set.
func (r *Registry) Order(ctx context.Context, names []string, by By) (Result, error) {
	return Result{}, errUnfinished
}

// SafeMode makes the native defaults decide at every hook, or ends that; it outlives a restart. Switching it on waits for no
// other change, and stays done when it cannot be recorded: see ErrUnrecorded.
func (r *Registry) SafeMode(ctx context.Context, on bool, by By) (Result, error) {
	return Result{}, errUnfinished
}

// Snapshot is what is in force now. It waits for nothing.
func (r *Registry) Snapshot() Snapshot { return Snapshot{} }

// History returns the newest entries whose Seq is below before, the newest first. before 0 = all, limit 0 = 100. Old entries
// are dropped in time.
func (r *Registry) History(limit int, before uint64) ([]Entry, error) { return nil, errUnfinished }

// Watch does what a folder says until ctx ends: NAME.wasm is pushed, with the settings and the place in the chain of
// NAME.json ({"config": {"max_age": "2s"}, "order": 10}) and the signature in NAME.wasm.sig where there are such files. It
// looks every second, and acts on what it has found the same twice. A name whose file goes is removed. What is refused is
// logged once and not tried again until it changes. The folder owns the names of its files: what others do to them lasts
// until the file changes.
func (r *Registry) Watch(ctx context.Context, dir string) error { return errUnfinished }
