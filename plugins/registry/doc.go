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
// The store's last good set is run as long as the configuration names the same policies in the same order, with the same
// modules and settings, as when that set was committed; the policies that ship are a configuration like any other, so a
// program with newer ones counts as one that has changed. Once it has, the configuration is run, and a rollback of one of
// its policies goes back to what the store had under that name. Start says which of the two it was.
//
// A version that was in quarantine is brought back disabled. One that cannot be had is replaced by the one before it, by that
// of an earlier set or by the configured one, with a warning.
//
// # Promises
//
//   - An operation that returned is on disk. A crash leaves the set before a change or the one after it.
//   - Every change is one entry of the history, and raises the revision by one. A refusal is an entry that does not.
//   - A shadow is in the history and not in the set: a restart forgets it.
package registry
