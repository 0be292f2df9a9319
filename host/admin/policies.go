package admin

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/registry"
)

// Policies is the registry of policies as the API needs it. Its methods may be called from any goroutine.
type Policies interface {
	Snapshot() registry.Snapshot
	History(limit int, before uint64) ([]registry.Entry, error)
	Check(ctx context.Context, req registry.Request) (plugins.Report, error)
	Push(ctx context.Context, req registry.Request) (registry.Result, error)
	Shadow(ctx context.Context, req registry.Request) (registry.Result, error)
	Unshadow(ctx context.Context, name string, by registry.By) (registry.Result, error)
	Promote(ctx context.Context, name string, by registry.By) (registry.Result, error)
	Rollback(ctx context.Context, name string, by registry.By) (registry.Result, error)
	Disable(ctx context.Context, name string, by registry.By) (registry.Result, error)
	Enable(ctx context.Context, name string, by registry.By) (registry.Result, error)
	Remove(ctx context.Context, name string, by registry.By) (registry.Result, error)
	SafeMode(ctx context.Context, on bool, by registry.By) (registry.Result, error)
}

func (s *Server) policyRoutes() {
	p := s.o.Policies
	s.app.Get("/v1/policies", s.listPolicies)
	s.app.Get("/v1/policies/history", s.listHistory) // before :name, which it would be
	s.app.Get("/v1/policies/:name", s.getPolicy)
	s.app.Put("/v1/policies/:name", s.pushPolicy)
	s.app.Delete("/v1/policies/:name", s.removePolicy)
	s.app.Post("/v1/policies/:name/rollback", s.byName(p.Rollback))
	s.app.Post("/v1/policies/:name/disable", s.byName(p.Disable))
	s.app.Post("/v1/policies/:name/enable", s.byName(p.Enable))
	s.app.Post("/v1/policies/:name/promote", s.byName(p.Promote))
	s.app.Get("/v1/policies/:name/shadow", s.getShadow)
	s.app.Put("/v1/policies/:name/shadow", s.pushShadow)
	s.app.Delete("/v1/policies/:name/shadow", s.byName(p.Unshadow))
	s.app.Put("/v1/safe-mode", s.switchSafeMode)
}

func (s *Server) listPolicies(c *fiber.Ctx) error {
	now := s.o.Policies.Snapshot()
	setRevision(c, now.Revision)
	return c.JSON(PolicyList{Revision: now.Revision, SafeMode: now.SafeMode, Policies: s.showAll(now.Policies)})
}

// showAll is never nil, so that the JSON is a list.
func (s *Server) showAll(all []plugins.PolicyInfo) []Policy {
	out := make([]Policy, 0, len(all))
	for i := range all {
		out = append(out, *s.show(&all[i]))
	}
	return out
}

// find is the policy that the path names, and the revision of all.
func (s *Server) find(c *fiber.Ctx) (*Policy, uint64, error) {
	name, err := policyName(c)
	if err != nil {
		return nil, 0, err
	}
	now := s.o.Policies.Snapshot()
	for i := range now.Policies {
		if now.Policies[i].Name == name {
			setRevision(c, now.Revision)
			return s.show(&now.Policies[i]), now.Revision, nil
		}
	}
	return nil, 0, problem(http.StatusNotFound, CodeUnknownPolicy, "there is no policy named "+name)
}

func (s *Server) getPolicy(c *fiber.Ctx) error {
	p, revision, err := s.find(c)
	if err != nil {
		return err
	}
	return c.JSON(Changed{Policy: *p, Revision: revision})
}

func (s *Server) getShadow(c *fiber.Ctx) error {
	p, _, err := s.find(c)
	if err != nil {
		return err
	}
	if p.Shadow == nil {
		return problem(http.StatusNotFound, CodeNoShadow, p.Name+" has no shadow")
	}
	return c.JSON(p.Shadow)
}

func (s *Server) listHistory(c *fiber.Ctx) error {
	limit, before := 100, uint64(0)
	var err error
	if text := c.Query("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > MaxHistory {
			return problem(http.StatusBadRequest, CodeBadQuery, fmt.Sprintf("limit=%q is not a number of entries from 1 to %d", text, MaxHistory))
		}
	}
	if text := c.Query("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil || before == 0 {
			return problem(http.StatusBadRequest, CodeBadQuery, fmt.Sprintf("before=%q is not the seq of an entry", text))
		}
	}
	entries, err := s.o.Policies.History(limit, before)
	if err != nil {
		return s.policyProblem(err, nil)
	}
	if entries == nil {
		entries = []registry.Entry{}
	}
	return c.JSON(History{entries})
}

// setRevision tells what If-Match takes.
func setRevision(c *fiber.Ctx, revision uint64) {
	c.Set(fiber.HeaderETag, strconv.Quote(strconv.FormatUint(revision, 10)))
}

var _ Policies = (*registry.Registry)(nil)
