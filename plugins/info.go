package plugins

import "maps"

// State says whether a policy decides.
type State string

// The states.
const (
	StateActive      State = "active"
	StateQuarantined State = "quarantined" // the native default decides in its place
	StateHalfOpen    State = "half_open"   // it decides again after a quarantine: one fault ends that
	StateDisabled    State = "disabled"    // the native default decides in its place, until it is enabled
	StateSuspended   State = "suspended"   // the native defaults decide in the place of all policies
	StateShadow      State = "shadow"      // there is nothing but a shadow of that name
)

// PolicyInfo describes a policy for people and metrics. Its counters begin with the version.
type PolicyInfo struct {
	Name        string            `json:"name"`
	Digest      string            `json:"digest"` // sha256 of the module, hex
	Config      map[string]string `json:"config"`
	Hooks       []string          `json:"hooks"`
	Version     int               `json:"version"`                   // counts the versions of this name since the host began
	ActiveSince int64             `json:"active_since_ns,omitempty"` // on the host's clock; 0 = it does not decide
	Previous    string            `json:"previous,omitempty"`        // digest of what a rollback would activate
	// PreviousConfig are the settings of what a rollback would activate.
	PreviousConfig map[string]string `json:"previous_config,omitempty"`
	State          State             `json:"state"`
	Fallen         *PolicyInfo       `json:"fallen,omitempty"`        // the quarantined version in whose place this one decides again
	NextProbe      int64             `json:"next_probe_ns,omitempty"` // when a quarantined policy is tried again, on the host's clock; 0 = never
	Shadow         *ShadowInfo       `json:"shadow,omitempty"`        // the candidate beside it

	Calls    []HookInfo       `json:"calls"` // one for each of Hooks
	Replaced uint64           `json:"instances_replaced"`
	Recycled uint64           `json:"instances_recycled"` // whose memory had grown
	BadCalls uint64           `json:"bad_host_calls"`     // calls into the host with a pointer outside of memory
	LogLines uint64           `json:"log_lines"`
	LogLost  uint64           `json:"log_lines_dropped"` // over the rate
	LogCut   uint64           `json:"log_lines_truncated"`
	Metrics  map[uint32]int64 `json:"metrics,omitempty"` // that the policy published
}

// HookInfo is what happened at one hook.
type HookInfo struct {
	Hook      string            `json:"hook"`
	Calls     uint64            `json:"calls"`
	Abstains  uint64            `json:"abstains"`
	Fallbacks map[string]uint64 `json:"fallbacks"` // by reason, all of FaultNames
	LastFuel  uint64            `json:"last_fuel"`
	MaxFuel   uint64            `json:"max_fuel"`
}

// List describes the policies in chain order, with those that do not decide in their place.
func (h *Host) List() []PolicyInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]PolicyInfo, 0, len(h.slots))
	for _, s := range h.slots {
		all = append(all, h.describe(&s))
	}
	return all
}

func (h *Host) describe(s *slot) PolicyInfo {
	v, fallen := s.active, s.fallen
	if v == nil {
		v, fallen = fallen, nil
	}
	if v == nil {
		v = s.shadow.v
		return PolicyInfo{Name: s.name, Digest: v.digest, Config: maps.Clone(v.config), Hooks: HookNames(v.hooks), State: StateShadow,
			Calls: []HookInfo{}, Shadow: s.shadow.info()}
	}
	i := v.info()
	if s.previous != nil {
		i.Previous, i.PreviousConfig = s.previous.digest, maps.Clone(s.previous.config)
	}
	switch {
	case s.disabled:
		i.State = StateDisabled
	case i.State != StateQuarantined && h.safe.Load():
		i.State = StateSuspended
	}
	if at := s.probeAt(); at != never {
		i.NextProbe = at
	}
	if fallen != nil {
		f := fallen.info()
		i.Fallen = &f
	}
	if s.shadow != nil {
		i.Shadow = s.shadow.info()
	}
	return i
}

func (v *version) info() PolicyInfo {
	s := &v.stats
	i := PolicyInfo{
		Name: v.name, Digest: v.digest, Config: maps.Clone(v.config), Hooks: HookNames(v.hooks), Version: v.number,
		ActiveSince: v.activeSince.Load(), State: StateActive,
		Replaced: s.replaced.Load(), Recycled: s.recycled.Load(), BadCalls: s.badCalls.Load(), LogLines: s.logLines.Load(),
		LogLost: s.logLost.Load(), LogCut: s.badLines.Load(),
	}
	switch {
	case v.quarantined.Load():
		i.State = StateQuarantined
	case v.halfOpen.Load():
		i.State = StateHalfOpen
	}
	for _, n := range hookNames {
		if v.hooks.Has(n.hook) {
			i.Calls = append(i.Calls, s.hook[hookIndex(n.hook)].info(n.name))
		}
	}
	for id := range uint32(Metrics) {
		if s.published.Load()&(1<<id) != 0 {
			if i.Metrics == nil {
				i.Metrics = map[uint32]int64{}
			}
			i.Metrics[id] = s.metrics[id].Load()
		}
	}
	return i
}

func (h *hookStats) info(name string) HookInfo {
	i := HookInfo{
		Hook: name, Calls: h.calls.Load(), Abstains: h.abstains.Load(), LastFuel: h.lastFuel.Load(), MaxFuel: h.maxFuel.Load(),
		Fallbacks: map[string]uint64{},
	}
	for f := range faults {
		i.Fallbacks[f.String()] = h.fallbacks[f].Load()
	}
	return i
}
