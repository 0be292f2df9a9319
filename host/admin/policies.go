package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
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
		return "", problem(http.StatusBadRequest, CodeBadName, "a policy's name is 1 to 64 letters, digits, _ . and -, begins with a letter or digit, and is not native")
	}
	entryOf(c).Policy = name
	return name, nil
}

// changedPolicy is the policy that a change names; why it is changed goes into the audit entry.
func changedPolicy(c *fiber.Ctx) (string, error) {
	name, err := policyName(c)
	if err != nil {
		return "", err
	}
	return name, readWhy(c)
}

// settings reads set=key=value from the query.
func settings(c *fiber.Ctx) (map[string]string, error) {
	out := map[string]string{}
	for _, raw := range c.Context().QueryArgs().PeekMulti("set") {
		k, v, ok := strings.Cut(string(raw), "=")
		if !ok || k == "" {
			return nil, problem(http.StatusBadRequest, CodeBadSetting, fmt.Sprintf("set=%q is not set=key=value", raw))
		}
		if _, twice := out[k]; twice {
			return nil, problem(http.StatusBadRequest, CodeBadSetting, fmt.Sprintf("setting %q is given twice", k))
		}
		out[k] = v
	}
	return out, nil
}

func (s *Server) pushPolicy(c *fiber.Ctx) error {
	name, err := changedPolicy(c)
	if err != nil {
		return err
	}
	set, err := settings(c)
	if err != nil {
		return err
	}
	wasm, err := readBody(c, BodyLimit, wasmTypes)
	if err != nil {
		return err
	}
	if len(wasm) == 0 {
		return problem(http.StatusBadRequest, CodeBadBody, "the body is empty; it must be the WebAssembly module")
	}
	digest := sha256.Sum256(wasm)
	entryOf(c).Digest = hex.EncodeToString(digest[:])
	if err := s.o.Policies.Push(c.UserContext(), name, wasm, set); err != nil {
		return s.policyProblem(err, set)
	}
	return s.answerPolicy(c, name)
}

func (s *Server) rollbackPolicy(c *fiber.Ctx) error {
	name, err := changedPolicy(c)
	if err != nil {
		return err
	}
	if err := s.o.Policies.Rollback(c.UserContext(), name); err != nil {
		return s.policyProblem(err, nil)
	}
	return s.answerPolicy(c, name)
}

func (s *Server) removePolicy(c *fiber.Ctx) error {
	name, err := changedPolicy(c)
	if err != nil {
		return err
	}
	if err := s.o.Policies.Remove(c.UserContext(), name); err != nil {
		return s.policyProblem(err, nil)
	}
	return c.SendStatus(http.StatusNoContent)
}

// answerPolicy shows the policy after a change.
func (s *Server) answerPolicy(c *fiber.Ctx, name string) error {
	for _, p := range s.list() {
		if p.Name == name {
			entryOf(c).Digest = p.Digest
			return c.JSON(p)
		}
	}
	return c.JSON(Policy{PolicyInfo: plugins.PolicyInfo{Name: name, State: StateRemoved}})
}

// policyProblem sorts the policy host's errors into what the client did wrong and what it did not. set is what
// it sent.
func (s *Server) policyProblem(err error, set map[string]string) error {
	var refused *plugins.RefusedError
	switch {
	case errors.As(err, &refused):
		p := problem(http.StatusUnprocessableEntity, CodePolicyRefused, refused.Error())
		p.Stage, p.Digest = string(refused.Stage), refused.Digest
		if refused.Stage == plugins.StageConfigure && s.o.SettingsHint != nil {
			p.Detail += s.o.SettingsHint(set)
		}
		return p
	case errors.Is(err, plugins.ErrUnknown):
		return problem(http.StatusNotFound, CodeUnknownPolicy, err.Error())
	case errors.Is(err, plugins.ErrClosed):
		return problem(http.StatusServiceUnavailable, CodeClosing, err.Error())
	}
	return err
}

var _ Policies = (*plugins.Host)(nil)
