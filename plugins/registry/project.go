package registry

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// project writes down what the host has in force. gone may have left the set; when any other policy has, the host is closed,
// and what it lists is not to be recorded.
func (r *Registry) project(gone string) (*store.Manifest, error) {
	host, err := r.started()
	if err != nil {
		return nil, err
	}
	m := &store.Manifest{SafeMode: r.safe, Configured: r.set.Configured, Policies: []store.Policy{}}
	if len(r.watched) > 0 {
		m.Watched = maps.Clone(r.watched)
	}
	before := map[string]store.Policy{}
	for _, p := range r.set.Policies {
		before[p.Name] = p
	}
	missing := map[string]bool{}
	if r.last != nil {
		for _, p := range r.last.Policies {
			missing[p.Name] = p.Name != gone
		}
	}
	for _, i := range host.List() {
		if s := i.Shadow; s != nil && s.Dropped == "" {
			if m.Shadows == nil {
				m.Shadows = map[string]store.Version{}
			}
			m.Shadows[i.Name] = r.version(s.Digest, s.Config)
		}
		if i.State != plugins.StateShadow {
			m.Policies = append(m.Policies, r.policy(&i, before[i.Name]))
			missing[i.Name] = false
		}
	}
	for name, is := range missing {
		if is {
			return nil, fmt.Errorf("record policies: %w: it lists no %s any more", plugins.ErrClosed, name)
		}
	}
	r.last = m
	return m, nil
}

// projected is what the host has in force, or had before it was closed.
func (r *Registry) projected() *store.Manifest {
	m, err := r.project("")
	if err != nil && r.last != nil {
		last := *r.last // a commit writes into it
		return &last
	}
	return m
}

func (r *Registry) policy(i *plugins.PolicyInfo, before store.Policy) store.Policy {
	p := store.Policy{
		Name: i.Name, Version: r.version(i.Digest, i.Config), Disabled: i.State == plugins.StateDisabled,
		Quarantined: i.State == plugins.StateQuarantined || i.State == plugins.StateHalfOpen,
	}
	if i.State == plugins.StateSuspended { // which hides a trial
		p.Quarantined = before.Quarantined && before.Same(p.Version)
	}
	if i.Previous != "" {
		v := r.version(i.Previous, i.PreviousConfig)
		p.Previous = &v
	}
	return p
}

func (r *Registry) version(digest string, config map[string]string) store.Version {
	return store.Version{Digest: digest, Config: maps.Clone(config), Signature: r.signature(digest)}
}

func (r *Registry) signature(digest string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signatures[digest]
}

// sign remembers a signature that was found to be good.
func (r *Registry) sign(digest, signature string) {
	if signature != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.signatures[digest] = signature
	}
}

// same reports whether two sets are alike, whatever changes made them.
func same(a, b *store.Manifest) bool {
	plain := func(m store.Manifest) string {
		m.Revision, m.Change = 0, store.Entry{}
		if len(m.Policies) == 0 {
			m.Policies = nil
		}
		text, _ := json.Marshal(m) // strings and numbers: it cannot fail
		return string(text)
	}
	return plain(*a) == plain(*b)
}

// find is the policy of a name; nil for none.
func find(host *plugins.Host, name string) *plugins.PolicyInfo {
	for _, i := range host.List() {
		if i.Name == name {
			return &i
		}
	}
	return nil
}

// left counts what a version did.
func left(i *plugins.PolicyInfo) *store.Left { return countLeft(i.Digest, i.Calls) }

func leftShadow(s *plugins.ShadowInfo) *store.Left {
	if s == nil {
		return nil
	}
	var hooks []plugins.HookInfo
	for _, h := range s.Hooks {
		hooks = append(hooks, h.HookInfo)
	}
	return countLeft(s.Digest, hooks)
}

func countLeft(digest string, hooks []plugins.HookInfo) *store.Left {
	l := &store.Left{Digest: digest}
	for _, h := range hooks {
		l.Calls += h.Calls
		for reason, n := range h.Fallbacks {
			if n == 0 {
				continue
			}
			if l.Faults == nil {
				l.Faults = map[string]uint64{}
			}
			l.Fallbacks += n
			l.Faults[reason] += n
		}
	}
	return l
}
