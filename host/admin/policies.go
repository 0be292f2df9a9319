package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/plugins"
)

// Policies is the policy host as the API needs it. Its methods may be called from any goroutine.
type Policies interface {
	List() []plugins.PolicyInfo
	Push(ctx context.Context, name string, wasm []byte, config map[string]string) error
	Rollback(ctx context.Context, name string) error
	Remove(ctx context.Context, name string) error
}

// Policy is one policy of the chain as the API shows it. Fields may be added.
type Policy struct {
	plugins.PolicyInfo
	Since time.Time `json:"since,omitzero"` // when it came into force; active_since_ns is not shown
}

// StateRemoved is the state of a policy that a rollback took out of the chain, since it had no version before.
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

// PolicyList is the answer of GET /v1/policies, in the order of the chain.
type PolicyList struct {
	Policies []Policy `json:"policies"`
}

func (s *Server) listPolicies(c *fiber.Ctx) error {
	return c.JSON(PolicyList{s.list()})
}

// list is never nil, so that the JSON is a list.
func (s *Server) list() []Policy {
	all := []Policy{}
	for _, info := range s.o.Policies.List() {
		p := Policy{PolicyInfo: info}
		if info.ActiveSince > 0 && s.o.Wall != nil {
			p.Since = s.o.Wall(info.ActiveSince)
		}
		p.ActiveSince = 0
		if p.Fallen != nil {
			p.Fallen.ActiveSince = 0
		}
		all = append(all, p)
	}
	return all
}

// nativeName is what traces call the host's own default.
const nativeName = "native"

var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// policyName is the policy that the path names.
func policyName(c *fiber.Ctx) (string, error) {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil || !nameRE.MatchString(name) || name == nativeName {
		return "", problem(http.StatusBadRequest, "a policy's name is 1 to 64 letters, digits, _ . and -, begins with a letter or digit, and is not native")
	}
	return name, nil
}

// settings reads set=key=value from the query.
func settings(c *fiber.Ctx) (map[string]string, error) {
	out := map[string]string{}
	for _, raw := range c.Context().QueryArgs().PeekMulti("set") {
		k, v, ok := strings.Cut(string(raw), "=")
		if !ok || k == "" {
			return nil, problem(http.StatusBadRequest, fmt.Sprintf("set=%q is not set=key=value", raw))
		}
		if _, twice := out[k]; twice {
			return nil, problem(http.StatusBadRequest, fmt.Sprintf("setting %q is given twice", k))
		}
		out[k] = v
	}
	return out, nil
}

func (s *Server) pushPolicy(c *fiber.Ctx) error {
	name, err := policyName(c)
	if err != nil {
		return err
	}
	set, err := settings(c)
	if err != nil {
		return err
	}
	wasm := slices.Clone(c.Body()) // the policy outlives the request's buffer
	if len(wasm) == 0 {
		return problem(http.StatusBadRequest, "the body is empty; it must be the WebAssembly module")
	}
	if err := s.o.Policies.Push(c.UserContext(), name, wasm, set); err != nil {
		return policyProblem(err)
	}
	return s.answerPolicy(c, name)
}

func (s *Server) rollbackPolicy(c *fiber.Ctx) error {
	name, err := policyName(c)
	if err != nil {
		return err
	}
	if err := s.o.Policies.Rollback(c.UserContext(), name); err != nil {
		return policyProblem(err)
	}
	return s.answerPolicy(c, name)
}

func (s *Server) removePolicy(c *fiber.Ctx) error {
	name, err := policyName(c)
	if err != nil {
		return err
	}
	if err := s.o.Policies.Remove(c.UserContext(), name); err != nil {
		return policyProblem(err)
	}
	return c.SendStatus(http.StatusNoContent)
}

// answerPolicy shows the policy after a change.
func (s *Server) answerPolicy(c *fiber.Ctx, name string) error {
	for _, p := range s.list() {
		if p.Name == name {
			return c.JSON(p)
		}
	}
	return c.JSON(Policy{PolicyInfo: plugins.PolicyInfo{Name: name, State: StateRemoved}})
}

// policyProblem sorts the policy host's errors into what the client did wrong and what it did not.
func policyProblem(err error) error {
	var refused *plugins.RefusedError
	switch {
	case errors.As(err, &refused):
		p := problem(http.StatusUnprocessableEntity, refused.Error())
		p.Stage, p.Digest = string(refused.Stage), refused.Digest
		return p
	case errors.Is(err, plugins.ErrUnknown):
		return problem(http.StatusNotFound, err.Error())
	case errors.Is(err, plugins.ErrClosed):
		return problem(http.StatusServiceUnavailable, err.Error())
	}
	return err
}

var _ Policies = (*plugins.Host)(nil)
