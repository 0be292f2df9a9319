// Package registry makes changes of policies durable: who changed what and why, one linear history, and after a restart the
// last good set.
//
// It runs no policy and knows no HTTP: plugins.Host runs them, host/admin and the command line call a Registry, and
// plugins/store is its disk. Who a caller is, is for the caller of this package to find out.
//
//	reg, err := registry.Open(registry.Options{Dir: "data/policies", Log: log})
//	host := plugins.New(rt, plugins.Options{Log: log, OnEvent: reg.OnEvent})
//	started, err := reg.Start(ctx, host, configured, false)   // before the loop begins
//	by := registry.By{Who: "ada", Why: "shed earlier"}
//	res, err := reg.Push(ctx, registry.Request{Name: "queue-age", Wasm: module, By: by})
//	by.IfMatch = res.Revision                                  // from here on only if nobody else was there
//	_, err = reg.Rollback(ctx, "queue-age", by)
//	if errors.Is(err, registry.ErrStale) { ... }
//
// # Which set a start runs
//
// The store's last good set is run as long as the configuration names the same policies, with the same modules and settings,
// as when that set was committed. Once the configuration names others, the configuration is run. Start says which it was.
//
// # Promises
//
//   - An operation that returned is on disk. A crash leaves the set before a change or the one after it.
//   - Every change is one entry of the history, and raises the revision by one. A refusal is an entry that does not.
//   - A shadow is in the history and not in the set: a restart forgets it.
package registry
