package admin

import (
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// PolicyList is the answer of GET /v1/policies, in the order of the chain. Fields may be added, here and below.
type PolicyList struct {
	Revision uint64   `json:"revision"`  // rises with each change; If-Match takes it
	SafeMode bool     `json:"safe_mode"` // the host's own defaults decide in the place of all policies
	Policies []Policy `json:"policies"`
}

// SafeMode is the answer of PUT /v1/safe-mode.
type SafeMode struct {
	On        bool   `json:"on"`
	Revision  uint64 `json:"revision"`
	Unchanged bool   `json:"unchanged,omitempty"` // it was so already
}

// SafeModeRequest is the body of PUT /v1/safe-mode.
type SafeModeRequest struct {
	On  *bool  `json:"on"` // needed
	Why string `json:"why"`
}

// History is the answer of GET /v1/policies/history, the newest entry first.
type History struct {
	Entries []store.Entry `json:"entries"`
}

// MaxHistory bounds the entries of one History.
const MaxHistory = 1000

// Policy is one policy of the chain as the API shows it.
type Policy struct {
	plugins.PolicyInfo
	Since     time.Time `json:"since,omitzero"`      // when it came into force
	NextProbe time.Time `json:"next_probe,omitzero"` // when a quarantined one is tried again
	Fallen    *Policy   `json:"fallen,omitempty"`    // the quarantined version in whose place this one decides again
	Shadow    *Shadow   `json:"shadow,omitempty"`    // the candidate beside it
}

// Changed is the answer of a change: the policy as it is after that. GET of one policy has the same form.
type Changed struct {
	Policy
	Revision  uint64 `json:"revision"`
	Unchanged bool   `json:"unchanged,omitempty"` // it was so already
}

// StateRemoved is the state of a policy that has left the chain.
const StateRemoved plugins.State = "removed"

// Totals are the calls of all hooks and how many of them failed, so that the native default decided.
func (p *Policy) Totals() (calls, fallbacks uint64) {
	for _, h := range p.Calls {
		calls += h.Calls
		for _, n := range h.Fallbacks {
			fallbacks += n
		}
	}
	return calls, fallbacks
}

// Shadow is a candidate beside a policy, and how its answers compare with that policy's.
type Shadow struct {
	plugins.ShadowInfo
	Since       time.Time    `json:"since,omitzero"`
	Differences []Difference `json:"differences"` // the last ones, the oldest first
}

// Totals are the answers of all hooks that were alike, and those that were not.
func (s *Shadow) Totals() (agree, differ uint64) {
	for _, h := range s.Hooks {
		agree += h.Agree
		differ += h.Differ
	}
	return agree, differ
}

// Difference is a question to which a shadow gave another answer than the policy.
type Difference struct {
	Time    time.Time `json:"time"`
	Hook    string    `json:"hook"`
	Step    uint64    `json:"step_id"`
	Request uint64    `json:"request_id,omitempty"` // the row in which they differ; 0 = they differ as a whole
	Active  string    `json:"active"`
	Shadow  string    `json:"shadow"`
}

// show puts time of day in the place of the policy host's clock.
func (s *Server) show(info *plugins.PolicyInfo) *Policy {
	if info == nil {
		return nil
	}
	p := &Policy{PolicyInfo: *info, Since: s.wall(info.ActiveSince), NextProbe: s.wall(info.NextProbe)}
	p.Fallen, p.Shadow = s.show(info.Fallen), s.showShadow(info.Shadow)
	p.PolicyInfo.ActiveSince, p.PolicyInfo.NextProbe, p.PolicyInfo.Fallen, p.PolicyInfo.Shadow = 0, 0, nil, nil
	return p
}

func (s *Server) showShadow(info *plugins.ShadowInfo) *Shadow {
	if info == nil {
		return nil
	}
	out := &Shadow{ShadowInfo: *info, Since: s.wall(info.Since), Differences: []Difference{}}
	for _, d := range info.Differences {
		out.Differences = append(out.Differences, Difference{
			Time: s.wall(d.At), Hook: d.Hook, Step: d.Step, Request: d.Request, Active: d.Active, Shadow: d.Shadow,
		})
	}
	out.ShadowInfo.Since, out.ShadowInfo.Differences = 0, nil
	return out
}

// wall is time of day; 0 on the host's clock has none.
func (s *Server) wall(at int64) time.Time {
	if at <= 0 || s.o.Wall == nil {
		return time.Time{}
	}
	return s.o.Wall(at)
}
