package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/registry"
)

// historyName is a route.
const historyName = "history"

// policyName is the policy that the path names.
func policyName(c *fiber.Ctx) (string, error) {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil || !plugins.ValidName(name) || name == historyName {
		return "", problem(http.StatusBadRequest, CodeBadName,
			"a policy's name is 1 to 64 letters, digits, _ . and -, begins with a letter or digit, and is neither native nor history")
	}
	entryOf(c).Policy = name
	return name, nil
}

// readBy reads what every change may say: who asks and why, and for which revision.
func readBy(c *fiber.Ctx) (by registry.By, err error) {
	if err := readWhy(c, c.Query("why")); err != nil {
		return by, err
	}
	e := entryOf(c)
	by.Who, by.Why = e.Who, e.Why
	by.IfMatch, err = ifMatch(c)
	return by, err
}

// ifMatch is the revision that the client wants to change; 0 for any.
func ifMatch(c *fiber.Ctx) (uint64, error) {
	text := c.Get(fiber.HeaderIfMatch)
	if text == "" || text == "*" {
		return 0, nil
	}
	number, quoted := strings.CutPrefix(text, `"`)
	number, closed := strings.CutSuffix(number, `"`)
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || !quoted || !closed || n == 0 {
		return 0, problem(http.StatusBadRequest, CodeBadRequest, fmt.Sprintf(`If-Match %q is not a revision from "1" on, as ETag has it`, text))
	}
	return n, nil
}

// byName is a change that needs nothing but a policy's name.
func (s *Server) byName(do func(context.Context, string, registry.By) (registry.Result, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		name, err := policyName(c)
		if err != nil {
			return err
		}
		by, err := readBy(c)
		if err != nil {
			return err
		}
		res, err := do(c.UserContext(), name, by)
		if err != nil {
			return s.policyProblem(err, nil)
		}
		return s.answer(c, name, &res)
	}
}

// answer shows the policy as it is after a change. One that is gone has nothing but its name.
func (s *Server) answer(c *fiber.Ctx, name string, res *registry.Result) error {
	setRevision(c, res.Revision)
	if res.Policy.State == "" {
		res.Policy = plugins.PolicyInfo{Name: name, State: StateRemoved}
	}
	if e := entryOf(c); e.Digest == "" {
		e.Digest = res.Policy.Digest
	}
	return c.JSON(Changed{Policy: *s.show(&res.Policy), Revision: res.Revision, Unchanged: res.Unchanged})
}

func (s *Server) removePolicy(c *fiber.Ctx) error {
	name, err := policyName(c)
	if err != nil {
		return err
	}
	by, err := readBy(c)
	if err != nil {
		return err
	}
	res, err := s.o.Policies.Remove(c.UserContext(), name, by)
	if err != nil {
		return s.policyProblem(err, nil)
	}
	setRevision(c, res.Revision)
	return c.SendStatus(http.StatusNoContent)
}

func (s *Server) switchSafeMode(c *fiber.Ctx) error {
	var in SafeModeRequest
	if err := readJSON(c, &in); err != nil {
		return err
	}
	if in.On == nil {
		return problem(http.StatusBadRequest, CodeBadBody, `the body needs "on": true or false`)
	}
	by, err := readBy(c)
	if err != nil {
		return err
	}
	if in.Why != "" {
		if err := readWhy(c, in.Why); err != nil {
			return err
		}
		by.Why = in.Why
	}
	res, err := s.o.Policies.SafeMode(c.UserContext(), *in.On, by)
	if err != nil {
		return s.policyProblem(err, nil)
	}
	setRevision(c, res.Revision)
	return c.JSON(SafeMode{On: *in.On, Revision: res.Revision, Unchanged: res.Unchanged})
}
