package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Policies is the policy host as the API needs it. Its methods may be called from any goroutine.
type Policies interface {
	// List returns the policies in the order of the chain.
	List() []Policy
	// Push prepares a policy and puts it in force from the next step on. An error changes nothing; a *Problem says what
	// the client did wrong.
	Push(ctx context.Context, name string, wasm []byte, settings map[string]string) error
	// Rollback puts the version before the present one back in force.
	Rollback(ctx context.Context, name string) error
	// Remove takes a policy out of the chain.
	Remove(ctx context.Context, name string) error
}

// Policy is one policy of the chain as the API shows it. Unknown fields may appear.
type Policy struct {
	Name      string            `json:"name"`
	Digest    string            `json:"digest"` // sha256 of the module, hex
	Version   int               `json:"version"`
	Hooks     []string          `json:"hooks"`
	Config    map[string]string `json:"config"`
	State     string            `json:"state"`              // "active", "quarantined", or "pending" until the next step
	Since     time.Time         `json:"since,omitzero"`     // when it came into force
	Previous  string            `json:"previous,omitempty"` // digest that a rollback would bring back
	Calls     uint64            `json:"calls"`
	Fallbacks uint64            `json:"fallbacks"` // calls that failed, for which the native default decided
	LastFault string            `json:"last_fault,omitempty"`
}

// PolicyList is the answer of GET /v1/policies.
type PolicyList struct {
	Policies []Policy `json:"policies"`
}

func (s *Server) listPolicies(c *fiber.Ctx) error {
	return c.JSON(PolicyList{s.list()})
}

// list never is nil, so that the JSON is a list.
func (s *Server) list() []Policy {
	return append([]Policy{}, s.o.Policies.List()...)
}

var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// policyName is the policy that the path names.
func policyName(c *fiber.Ctx) (string, error) {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil || !nameRE.MatchString(name) {
		return "", fiber.NewError(http.StatusBadRequest, "a policy's name is 1 to 64 letters, digits, _ . and -, and begins with a letter or digit")
	}
	return name, nil
}

// settings reads set=key=value from the query.
func settings(c *fiber.Ctx) (map[string]string, error) {
	out := map[string]string{}
	for _, raw := range c.Context().QueryArgs().PeekMulti("set") {
		k, v, ok := strings.Cut(string(raw), "=")
		if !ok || k == "" {
			return nil, fiber.NewError(http.StatusBadRequest, fmt.Sprintf("set=%q is not set=key=value", raw))
		}
		if _, twice := out[k]; twice {
			return nil, fiber.NewError(http.StatusBadRequest, fmt.Sprintf("setting %q is given twice", k))
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
		return fiber.NewError(http.StatusBadRequest, "the body is empty; it must be the WebAssembly module")
	}
	if err := s.o.Policies.Push(c.UserContext(), name, wasm, set); err != nil {
		return fmt.Errorf("push policy %s: %w", name, err)
	}
	return s.answerPolicy(c, name)
}

func (s *Server) rollbackPolicy(c *fiber.Ctx) error {
	name, err := policyName(c)
	if err != nil {
		return err
	}
	if err := s.o.Policies.Rollback(c.UserContext(), name); err != nil {
		return fmt.Errorf("roll back policy %s: %w", name, err)
	}
	return s.answerPolicy(c, name)
}

func (s *Server) removePolicy(c *fiber.Ctx) error {
	name, err := policyName(c)
	if err != nil {
		return err
	}
	if err := s.o.Policies.Remove(c.UserContext(), name); err != nil {
		return fmt.Errorf("remove policy %s: %w", name, err)
	}
	return c.SendStatus(http.StatusNoContent)
}

// answerPolicy shows the policy after a change.
func (s *Server) answerPolicy(c *fiber.Ctx, name string) error {
	for _, p := range s.o.Policies.List() {
		if p.Name == name {
			return c.JSON(p)
		}
	}
	return problem(http.StatusConflict, fmt.Sprintf("policy %s was changed again meanwhile and is gone", name))
}
