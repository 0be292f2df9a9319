package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// watcher stands in the history for what a folder said.
const watcher = "watch"

// Watch does what a folder says until ctx ends: NAME.wasm is pushed, with the settings and the place in the chain of
// NAME.json ({"config": {"max_age": "2s"}, "order": 10}) and the signature in NAME.wasm.sig where there are such files. It
// looks every Options.Poll, and acts on what it has found the same twice. A name whose file goes is removed. What is refused
// is logged once and not tried again until it changes. The folder owns the names of its files: what others do to them lasts
// until the file changes, also across a restart. The folder's policies stand among themselves in the order of their numbers,
// then names; those of others keep their places. An error means that the folder cannot be read at the beginning.
func (r *Registry) Watch(ctx context.Context, dir string) error {
	if _, err := os.ReadDir(dir); err != nil {
		return fmt.Errorf("watch policies: %w", err)
	}
	w := &watch{r: r, dir: dir, seen: map[string]sighting{}, refused: map[string]string{}, orders: map[string]int{}, trouble: map[string]string{}}
	tick := time.NewTicker(r.opt.Poll)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-r.stop:
			return nil
		case <-tick.C:
		}
	}
}

// watch is a folder that is looked at again and again. It is one goroutine's.
type watch struct {
	r       *Registry
	dir     string
	seen    map[string]sighting // by policy name
	refused map[string]string   // by policy name: the hash of what was refused last
	orders  map[string]int      // by policy name: the place it asked for
	trouble map[string]string   // that was logged last, by policy name; "" = with the folder
}

// sighting is what was found of one name.
type sighting struct {
	stamp string // of its files, "" = it has none
	done  bool   // it has been acted on
}

// look goes over the folder once.
func (w *watch) look(ctx context.Context) {
	stamps, err := stampFolder(w.dir)
	if err != nil {
		w.complain("", "the watched folder of policies cannot be read", err)
		return
	}
	known, err := w.r.watchedNow(ctx)
	if err != nil {
		return // it is over
	}
	for name := range known {
		if _, ok := stamps[name]; !ok {
			stamps[name] = ""
		}
	}
	var stable []string
	for name, stamp := range stamps {
		switch s, ok := w.seen[name]; {
		case !ok || s.stamp != stamp:
			w.seen[name] = sighting{stamp: stamp}
		case !s.done:
			stable = append(stable, name)
		}
	}
	w.act(ctx, stable, stamps, known)
}

// watchedNow is what was taken from the folder, now or before a restart.
func (r *Registry) watchedNow(ctx context.Context) (map[string]string, error) {
	if err := r.hold(ctx); err != nil {
		return nil, err
	}
	defer r.release()
	return maps.Clone(r.watched), nil
}

// act does what the stable names ask for, in the order of the chain.
func (w *watch) act(ctx context.Context, names []string, stamps, known map[string]string) {
	var files []policyFile
	changed := false
	for _, name := range names {
		if stamps[name] == "" {
			changed = w.remove(ctx, name) || changed
			continue
		}
		f, err := readPolicyFile(w.dir, name)
		if err == nil {
			err = f.unchanged(w.dir, stamps[name])
		}
		if err != nil {
			w.complain(name, "a watched policy cannot be read", err)
			continue
		}
		w.orders[name] = f.settings.Order
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b policyFile) int {
		return cmp.Or(cmp.Compare(a.settings.Order, b.settings.Order), cmp.Compare(a.name, b.name))
	})
	for _, f := range files {
		if hash := f.hash(); known[f.name] == hash || w.refused[f.name] == hash {
			w.done(f.name)
			continue
		}
		changed = w.push(ctx, &f) || changed
	}
	if changed {
		w.order(ctx)
	}
}

// push puts a file into force.
func (w *watch) push(ctx context.Context, f *policyFile) (changed bool) {
	hash, err := f.hash(), f.err
	if err == nil {
		_, err = w.r.put(ctx, Request{
			Name: f.name, Wasm: f.wasm, Config: f.settings.Config, Signature: f.signature,
			By: By{Who: watcher, Why: "file " + f.name + wasmSuffix},
		}, store.OpPush, hash)
	}
	switch {
	case err == nil || errors.Is(err, ErrUnrecorded):
		delete(w.refused, f.name)
		w.done(f.name)
		w.r.opt.Log.Info("a watched policy was pushed", "policy", f.name, "digest", store.Digest(f.wasm))
		return true
	case errors.Is(err, ErrUndone): // it is tried again: the disk may take it then
		w.complain(f.name, "a watched policy cannot be recorded", err)
	case ctx.Err() == nil && !errors.Is(err, ErrClosed) && !errors.Is(err, plugins.ErrClosed):
		w.refused[f.name] = hash
		w.done(f.name)
		w.r.opt.Log.Error("a watched policy was refused; what runs is not touched, and the file is not tried again until it changes",
			"policy", f.name, "error", err)
	}
	return false
}

func (w *watch) done(name string) {
	s := w.seen[name]
	s.done = true
	w.seen[name] = s
	delete(w.trouble, name)
}

// remove takes a policy away whose file is gone.
func (w *watch) remove(ctx context.Context, name string) (changed bool) {
	c := change{op: store.OpRemove, name: name, by: By{Who: watcher, Why: "file " + name + wasmSuffix + " is gone"}}
	c.run = func(ctx context.Context, _ *plugins.PolicyInfo) error {
		err := w.r.host.Load().Remove(ctx, name)
		if err == nil || errors.Is(err, plugins.ErrUnknown) { // somebody else removed it
			delete(w.r.watched, name)
			return nil
		}
		return err
	}
	_, err := w.r.do(ctx, c)
	if err != nil && !errors.Is(err, ErrUnrecorded) {
		if ctx.Err() == nil {
			w.complain(name, "a policy whose file is gone cannot be removed", err)
		}
		return false
	}
	delete(w.refused, name)
	delete(w.orders, name)
	delete(w.seen, name)
	delete(w.trouble, name)
	w.r.opt.Log.Info("a watched policy was removed", "policy", name)
	return true
}

// order sorts the folder's policies among themselves.
func (w *watch) order(ctx context.Context) {
	host, err := w.r.started()
	if err != nil {
		return
	}
	names := namesOf(host)
	var at []int
	var mine []string
	for i, name := range names {
		if _, ok := w.orders[name]; ok {
			at, mine = append(at, i), append(mine, name)
		}
	}
	slices.SortStableFunc(mine, func(a, b string) int {
		return cmp.Or(cmp.Compare(w.orders[a], w.orders[b]), cmp.Compare(a, b))
	})
	for i, name := range mine {
		names[at[i]] = name
	}
	if _, err := w.r.Order(ctx, names, By{Who: watcher, Why: "order numbers"}); err != nil && ctx.Err() == nil {
		w.complain("", "watched policies cannot be put in order", err)
	}
}

// complain logs trouble once, however often it is met in a row.
func (w *watch) complain(name, what string, err error) {
	if text := what + err.Error(); text != w.trouble[name] {
		w.trouble[name] = text
		w.r.opt.Log.Error(what, "error", err)
	}
}
