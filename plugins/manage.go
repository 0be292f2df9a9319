package plugins

import (
	"context"
	"fmt"
)

// SetAll makes the policies the set in force, in chain order, and removes all others. All of them are taken or none.
func (h *Host) SetAll(ctx context.Context, policies []Policy) error {
	var fresh []*version
	discard := func() {
		for _, v := range fresh {
			v.close()
		}
	}
	seen := map[string]bool{}
	for _, p := range policies {
		if seen[p.Name] {
			discard()
			return fmt.Errorf("two policies are named %q: give each its own name", p.Name)
		}
		seen[p.Name] = true
		c, err := h.Prepare(ctx, p.Name, p.Wasm, p.Config)
		if err != nil {
			discard()
			return err
		}
		fresh = append(fresh, c.v)
	}
	if err := h.hold(ctx, h.changing); err != nil {
		discard()
		return fmt.Errorf("set policies: %w", err)
	}
	defer release(h.changing)
	c := h.compose()
	old := c.slots
	c.slots = nil
	for _, s := range old {
		if !seen[s.name] {
			c.slots = append(c.slots, s)
			_ = c.drop(s.name) // it was just put there
			c.events = append(c.events, Event{Kind: EventRemoved, Name: s.name})
		}
	}
	for _, v := range fresh {
		for _, s := range old {
			if s.name == v.name {
				c.slots = append(c.slots, s)
			}
		}
		h.enter(c, v)
	}
	if err := h.apply(ctx, c); err != nil {
		discard()
		return err
	}
	return nil
}

// Push prepares a policy and puts it in the place of the one of the same name, disabled or not, or at the end of the chain.
// It returns when the policy decides. The same module with the same configuration as the active one changes nothing.
func (h *Host) Push(ctx context.Context, name string, wasm []byte, config map[string]string) error {
	c, err := h.Prepare(ctx, name, wasm, config)
	if err != nil {
		return err
	}
	if err := h.Activate(ctx, c); err != nil {
		c.Close()
		return err
	}
	return nil
}

// Activate is the second half of Push. After an error the candidate is still the caller's to close or activate.
func (h *Host) Activate(ctx context.Context, cand *Candidate) error {
	v := cand.v
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("activate policy %s: %w", v.name, err)
	}
	defer release(h.changing)
	c := h.compose()
	if s := c.find(v.name); s != nil && s.deciding() != nil && s.active.same(v) {
		v.close()
		return nil
	}
	h.enter(c, v)
	return h.apply(ctx, c)
}

// enter puts a version into a change under its own identity.
func (h *Host) enter(c *change, v *version) {
	h.register(v)
	c.put(v)
	c.events = append(c.events, Event{Kind: EventActivated, Name: v.name, Digest: v.digest})
}

// same reports whether v would decide as the active version does.
func (v *version) same(o *version) bool {
	return v.digest == o.digest && string(v.configJSON) == string(o.configJSON) && !v.quarantined.Load()
}

// Rollback puts a policy's previous version in the place of the active one, which is gone after that. Without a previous
// version the policy is removed with its shadow, and the native default decides. It returns when that is so.
func (h *Host) Rollback(ctx context.Context, name string) error {
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("roll policy %s back: %w", name, err)
	}
	defer release(h.changing)
	c := h.compose()
	to, err := c.back(name)
	if err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	event := Event{Kind: EventRolledBack, Name: name}
	if to != nil {
		if err := h.ready(ctx, to); err != nil {
			return fmt.Errorf("roll policy %s back: %w", name, err)
		}
		event.Digest = to.digest
	}
	c.events = append(c.events, event)
	return h.apply(ctx, c)
}

// Remove takes a policy out of the set, with its shadow.
func (h *Host) Remove(ctx context.Context, name string) error {
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("remove policy %s: %w", name, err)
	}
	defer release(h.changing)
	c := h.compose()
	if err := c.drop(name); err != nil {
		return fmt.Errorf("remove policy: %w", err)
	}
	c.events = append(c.events, Event{Kind: EventRemoved, Name: name})
	return h.apply(ctx, c)
}

// Disable keeps a policy loaded and listed, with what it has learned, and has the native default decide in its place: until
// Enable, or until a Push, Promote or Rollback puts a version into force. It returns when that is so.
func (h *Host) Disable(ctx context.Context, name string) error { return h.able(ctx, name, true) }

// Enable lets a disabled policy decide again. It has not heard of events meanwhile.
func (h *Host) Enable(ctx context.Context, name string) error { return h.able(ctx, name, false) }

func (h *Host) able(ctx context.Context, name string, disabled bool) error {
	verb, kind := "enable", EventEnabled
	if disabled {
		verb, kind = "disable", EventDisabled
	}
	if err := h.hold(ctx, h.changing); err != nil {
		return fmt.Errorf("%s policy %s: %w", verb, name, err)
	}
	defer release(h.changing)
	c := h.compose()
	s := c.find(name)
	if s == nil || s.active == nil && s.fallen == nil {
		return fmt.Errorf("%s policy: %w: %q", verb, ErrUnknown, name)
	}
	if s.disabled == disabled {
		return nil
	}
	s.disabled = disabled
	event := Event{Kind: kind, Name: name}
	if s.active != nil {
		event.Digest = s.active.digest
	}
	c.events = append(c.events, event)
	return h.apply(ctx, c)
}
