package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/plugins"
)

// Problem is an error as RFC 9457 has it. Type is "about:blank": Status says what kind of error it is, and Code which of
// that kind. Unknown fields may appear.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Code     Code   `json:"code"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance"` // urn:uuid: and the request's id, which the audit log has too

	Revision uint64 `json:"revision,omitempty"` // of CodeStale: that of the policies
	IfMatch  uint64 `json:"if_match,omitempty"` // of CodeStale: that of the request

	Stage  string          `json:"stage,omitempty"`  // of a refused policy: where its preparation ended
	Digest string          `json:"digest,omitempty"` // of a refused policy
	Report *plugins.Report `json:"report,omitempty"` // of a refused policy: what was found until then
}

// Code names one kind of error for programs. A code keeps its meaning for ever; codes may be added.
type Code string

// The codes.
const (
	CodeBadRequest       Code = "bad_request"
	CodeBadName          Code = "bad_policy_name"
	CodeBadSetting       Code = "bad_setting"
	CodeBadQuery         Code = "bad_query"
	CodeBadBody          Code = "bad_body"
	CodeUnauthorized     Code = "unauthorized"
	CodeForeignPage      Code = "foreign_page"
	CodeUnknownRoute     Code = "unknown_route"
	CodeUnknownPolicy    Code = "unknown_policy"
	CodeNoShadow         Code = "no_shadow"
	CodeUnknownModule    Code = "unknown_module"
	CodeStale            Code = "revision_mismatch"
	CodeSignature        Code = "signature_refused"
	CodePinned           Code = "policy_pinned"
	CodeUnrecorded       Code = "unrecorded"
	CodeUndone           Code = "undone"
	CodeStoreFull        Code = "store_full"
	CodeMethodNotAllowed Code = "method_not_allowed"
	CodeTooLarge         Code = "too_large"
	CodeMediaType        Code = "unsupported_media_type"
	CodeTimeout          Code = "timeout"
	CodePolicyRefused    Code = "policy_refused"
	CodeHeaderTooLarge   Code = "header_too_large"
	CodeInternal         Code = "internal"
	CodeUnknownMethod    Code = "unknown_method"
	CodeClosing          Code = "closing"
	CodeConfig           Code = "invalid_configuration"
)

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Error is the detail, else the title.
func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return p.Title
}

// handleError answers with a Problem. What no handler foresaw is logged and answered without its text.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	p := *problemOf(c, err)
	p.Instance = "urn:uuid:" + requestID(c)
	if p.Status == http.StatusInternalServerError {
		s.log.Error("admin request failed", "method", c.Method(), "path", c.Path(), "request", requestID(c), "error", err)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, ProblemType)
	c.Set(fiber.HeaderXRequestID, requestID(c))
	return c.Status(p.Status).Send(body)
}

func problemOf(c *fiber.Ctx, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var fe *fiber.Error
	if !errors.As(err, &fe) {
		return problem(http.StatusInternalServerError, CodeInternal, "see the server's log")
	}
	switch fe.Code {
	case http.StatusNotFound:
		return problem(fe.Code, CodeUnknownRoute, c.Method()+" "+c.Path()+" is not part of the admin API; GET /openapi.json lists what is")
	case http.StatusMethodNotAllowed:
		return problem(fe.Code, CodeMethodNotAllowed, c.Path()+" takes "+c.GetRespHeader(fiber.HeaderAllow))
	case http.StatusRequestTimeout:
		return problem(fe.Code, CodeTimeout, "the request did not come in time")
	case http.StatusRequestHeaderFieldsTooLarge:
		return problem(fe.Code, CodeHeaderTooLarge, "the request line and headers are too long")
	case http.StatusRequestEntityTooLarge:
		return problem(fe.Code, CodeTooLarge, fe.Message)
	}
	return problem(fe.Code, CodeBadRequest, fe.Message)
}

func problem(status int, code Code, detail string) *Problem {
	title := http.StatusText(status)
	if detail == title {
		detail = ""
	}
	return &Problem{Type: "about:blank", Title: title, Status: status, Code: code, Detail: detail}
}
