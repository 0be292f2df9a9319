package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// Start puts the last good set of the store, else the configured policies into force: see the package comment. The host
// must have no policies yet, and no loop that calls Swap. safe starts in safe mode, for this run, until SafeMode ends it.
// An error means that configured policies were refused, or that the store cannot be written; the host is to be closed then.
func (r *Registry) Start(ctx context.Context, host *plugins.Host, configured []plugins.Policy, safe bool) (Started, error) {
	if err := r.hold(ctx); err != nil {
		return Started{}, err
	}
	defer r.release()
	if r.host.Load() != nil || len(host.List()) > 0 {
		return Started{}, errors.New("start policies: it was done already")
	}
	s := starting{r: r, host: host, configured: configured, out: Started{Warnings: r.disk.Warnings()}}
	s.choose()
	if err := s.load(ctx, safe); err != nil {
		return Started{}, fmt.Errorf("start policies: %w", err)
	}
	r.host.Store(host)
	if err := s.commit(); err != nil {
		r.host.Store(nil)
		return Started{}, fmt.Errorf("start policies: %w", err)
	}
	s.out.Revision, s.out.SafeMode = r.revision.Load(), host.Safe()
	return s.out, nil
}

// starting is a start on its way.
type starting struct {
	r          *Registry
	host       *plugins.Host
	configured []plugins.Policy
	stored     *store.Manifest // nil for none
	hash       string          // of configured
	out        Started
}

func (s *starting) warn(format string, args ...any) {
	s.out.Warnings = append(s.out.Warnings, fmt.Sprintf(format, args...))
}

// choose applies the rule of the package comment.
func (s *starting) choose() {
	s.hash = configuredHash(s.configured)
	m, ok := s.r.disk.Manifest()
	if !ok {
		s.out.Source, s.out.Why = FromConfiguration, s.noneStored()
		return
	}
	s.stored, s.r.set, s.r.safe = m, m, m.SafeMode
	for _, p := range m.Policies {
		s.r.sign(p.Digest, p.Signature)
		if p.Previous != nil {
			s.r.sign(p.Previous.Digest, p.Previous.Signature)
		}
	}
	if m.Configured != s.hash {
		s.out.Source = FromConfiguration
		s.out.Why = fmt.Sprintf("the configuration has changed since revision %d was committed", m.Revision)
		return
	}
	maps.Copy(s.r.watched, m.Watched)
	s.out.Source = FromStore
	s.out.Why = fmt.Sprintf("revision %d, of %s by %s", m.Revision, m.Change.At.Format("2006-01-02 15:04:05"), m.Change.Who)
}

// noneStored is why the configuration is run where no set is stored.
func (s *starting) noneStored() string {
	switch {
	case s.r.disk.FellBack():
		return "no set of the policy store is whole: the configured policies are used, and stored"
	case s.r.opt.Dir == "":
		return "policies are not stored: the configured ones are used"
	}
	return "first start with this policy store: the configured policies are used, and stored"
}

// configuredHash changes with the names, the modules, the settings and the order of policies.
func configuredHash(policies []plugins.Policy) string {
	type line struct {
		Name, Digest string
		Config       map[string]string
	}
	lines := []line{}
	for _, p := range policies {
		lines = append(lines, line{p.Name, store.Digest(p.Wasm), p.Config})
	}
	text, _ := json.Marshal(lines) // strings: it cannot fail
	return store.Digest(text)
}

func (s *starting) load(ctx context.Context, safe bool) error {
	if safe || s.r.safe {
		if err := s.host.SafeMode(ctx, true); err != nil {
			return err
		}
	}
	if s.out.Source == FromStore {
		return s.loadStored(ctx)
	}
	return s.loadConfigured(ctx, safe)
}

// loadConfigured takes all of the configured policies, or none; in safe mode those that can be had.
func (s *starting) loadConfigured(ctx context.Context, safe bool) error {
	seen := map[string]bool{}
	for _, p := range s.configured {
		if seen[p.Name] {
			return fmt.Errorf("two policies are named %q: give each its own name", p.Name)
		}
		seen[p.Name] = true
		v := store.Version{Digest: store.Digest(p.Wasm), Config: p.Config}
		err := s.r.pinned(p.Name, v.Digest)
		if err == nil {
			s.loadPrevious(ctx, p.Name, s.before(p.Name, v))
			err = s.enter(ctx, p.Name, p.Wasm, p.Config)
		}
		if err != nil && safe && ctx.Err() == nil {
			s.warn("%v", err)
		} else if err != nil {
			return err
		}
	}
	for _, p := range s.leaving(seen) {
		s.warn("policy %s@%s is not in the configuration and was left out: push it again by its digest %s", p.Name, short(p.Digest), p.Digest)
	}
	return nil
}

// before is the version that a rollback from a configured version goes back to; nil for none.
func (s *starting) before(name string, v store.Version) *store.Version {
	for _, p := range s.storedPolicies() {
		if p.Name == name && !p.Same(v) && !p.Quarantined {
			s.warn("policy %s is what the configuration says, in the place of %s: a rollback brings that back", name, short(p.Digest))
			return &p.Version
		}
		if p.Name == name {
			return p.Previous
		}
	}
	return nil
}

func (s *starting) storedPolicies() []store.Policy {
	if s.stored == nil {
		return nil
	}
	return s.stored.Policies
}

// leaving lists the stored policies that nothing brings back.
func (s *starting) leaving(stay map[string]bool) (gone []store.Policy) {
	for _, p := range s.storedPolicies() {
		if _, comes := s.stored.Watched[p.Name]; !stay[p.Name] && !comes { // a watched folder pushes its own again
			gone = append(gone, p)
		}
	}
	return gone
}

// loadStored brings back the stored set, as much of it as can be had.
func (s *starting) loadStored(ctx context.Context) error {
	for _, p := range s.stored.Policies {
		if err := s.restore(ctx, &p); err != nil {
			return err
		}
	}
	for name := range s.stored.Shadows {
		s.warn("the shadow of policy %s is gone: a restart forgets shadows", name)
	}
	return nil
}

// restore brings back one policy, in the first version that can be had. Its error is the end of ctx.
func (s *starting) restore(ctx context.Context, p *store.Policy) error {
	for n, v := range s.versions(p) {
		wasm, err := s.module(p.Name, v)
		if err == nil {
			if n == 0 {
				s.loadPrevious(ctx, p.Name, p.Previous)
			}
			err = s.enter(ctx, p.Name, wasm, v.Config)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			s.warn("policy %s@%s cannot be had: %v", p.Name, short(v.Digest), err)
			continue
		}
		if n > 0 {
			s.warn("policy %s@%s is used instead", p.Name, short(v.Digest))
		}
		return s.settle(ctx, p, n == 0)
	}
	s.warn("there is no version of policy %s: the native default decides", p.Name)
	return nil
}

// settle disables what was not deciding.
func (s *starting) settle(ctx context.Context, p *store.Policy, asStored bool) error {
	if p.Quarantined && asStored {
		s.warn("policy %s@%s was in quarantine when the server ended: it is disabled, enable it to try it again", p.Name, short(p.Digest))
	}
	if p.Disabled || p.Quarantined && asStored {
		return s.host.Disable(ctx, p.Name)
	}
	return nil
}

// versions lists what a policy can be, the best first: as it was, the one before it, those of earlier sets, and the
// configured one.
func (s *starting) versions(p *store.Policy) []store.Version {
	all := []store.Version{p.Version}
	add := func(v store.Version) {
		for _, a := range all {
			if a.Same(v) {
				return
			}
		}
		all = append(all, v)
	}
	if p.Previous != nil {
		add(*p.Previous)
	}
	for _, m := range s.r.disk.Kept() {
		for _, o := range m.Policies {
			if o.Name == p.Name && !o.Quarantined {
				add(o.Version)
			}
		}
	}
	for _, c := range s.configured {
		if c.Name == p.Name {
			add(store.Version{Digest: store.Digest(c.Wasm), Config: c.Config})
		}
	}
	return all
}

// module reads a stored module, unless it is a configured one, and checks what a push would have checked.
func (s *starting) module(name string, v store.Version) ([]byte, error) {
	if err := s.r.pinned(name, v.Digest); err != nil {
		return nil, err
	}
	for _, p := range s.configured {
		if store.Digest(p.Wasm) == v.Digest {
			return p.Wasm, nil
		}
	}
	wasm, err := s.r.disk.Get(v.Digest)
	if err != nil {
		return nil, err
	}
	_, err = s.r.verify(name, wasm, []byte(v.Signature))
	return wasm, err
}

// loadPrevious makes ready what a rollback goes back to.
func (s *starting) loadPrevious(ctx context.Context, name string, v *store.Version) {
	if v == nil {
		return
	}
	wasm, err := s.module(name, *v)
	if err == nil {
		err = s.enter(ctx, name, wasm, v.Config)
	}
	if err != nil {
		s.warn("policy %s cannot be rolled back to %s: %v", name, short(v.Digest), err)
	}
}

// enter stores a module and puts it into force.
func (s *starting) enter(ctx context.Context, name string, wasm []byte, config map[string]string) error {
	cand, err := s.host.Prepare(ctx, name, wasm, config)
	if err != nil {
		return err
	}
	if _, err = s.r.disk.Put(wasm); err == nil {
		err = s.host.Activate(ctx, cand)
	}
	if err != nil {
		cand.Close()
	}
	return err
}

// commit records what was put into force, if that is not what is recorded.
func (s *starting) commit() error {
	r := s.r
	op, who, why := store.OpRecover, itself, strings.Join(s.out.Warnings, "; ")
	if s.out.Source == FromConfiguration {
		op, who, why = store.OpConfigure, string(FromConfiguration), s.out.Why
	}
	set, err := r.project("")
	if err != nil {
		return err
	}
	set.Configured = s.hash
	if s.stored != nil && same(set, s.stored) && !r.disk.FellBack() {
		return nil
	}
	if s.stored == nil || r.disk.FellBack() {
		r.set = &store.Manifest{} // nothing is the same: the set is written again
	}
	r.unsaved = append(r.unsaved, Entry{At: r.now(), Who: who, Why: clipped(why, MaxWhy), Op: op})
	_, err = r.flush(set)
	return err
}
