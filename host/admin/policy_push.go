package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/plugins/registry"
	"github.com/sluice-dev/sluice/plugins/store"
)

// SignatureHeader carries what stands in NAME.wasm.sig: a module's signature, in base64.
const SignatureHeader = "X-Sluice-Signature"

// readModule reads a module that is to be put somewhere, and what goes with it. The body comes last: a request that is
// wrong already is not read.
func readModule(c *fiber.Ctx) (req registry.Request, err error) {
	if req.Name, err = policyName(c); err != nil {
		return req, err
	}
	if req.Config, err = settings(c); err != nil {
		return req, err
	}
	if req.By, err = readBy(c); err != nil {
		return req, err
	}
	req.Digest = strings.Clone(c.Query("digest"))
	req.Signature = []byte(c.Get(SignatureHeader))
	if req.Wasm, err = readBody(c, BodyLimit, wasmTypes); err != nil {
		return req, err
	}
	if len(req.Wasm) > 0 {
		entryOf(c).Digest = store.Digest(req.Wasm)
		return req, nil
	}
	if req.Digest == "" {
		return req, problem(http.StatusBadRequest, CodeBadBody, "the body is empty; it must be the WebAssembly module, or digest= must name one that was sent before")
	}
	entryOf(c).Digest = req.Digest
	return req, nil
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
	req, err := readModule(c)
	if err != nil {
		return err
	}
	dry, err := readDryRun(c)
	if err != nil {
		return err
	}
	if !dry {
		return s.put(c, req, s.o.Policies.Push)
	}
	report, err := s.o.Policies.Check(c.UserContext(), req)
	if err != nil {
		return s.policyProblem(err, req.Config)
	}
	return c.JSON(report)
}

// readDryRun tells whether a request only asks what would be, and notes that for the audit log.
func readDryRun(c *fiber.Ctx) (bool, error) {
	switch dry := c.Query("dry_run"); dry {
	case "":
		return false, nil
	case "1", "true":
		entryOf(c).DryRun = true
		return true, nil
	default:
		return false, problem(http.StatusBadRequest, CodeBadQuery, fmt.Sprintf("dry_run=%q is not 1 or true", dry))
	}
}

func (s *Server) pushShadow(c *fiber.Ctx) error {
	req, err := readModule(c)
	if err != nil {
		return err
	}
	return s.put(c, req, s.o.Policies.Shadow)
}

func (s *Server) put(c *fiber.Ctx, req registry.Request, do func(context.Context, registry.Request) (registry.Result, error)) error {
	res, err := do(c.UserContext(), req)
	if err != nil {
		return s.policyProblem(err, req.Config)
	}
	return s.answer(c, req.Name, &res)
}
