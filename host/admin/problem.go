package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"
)

// Problem is an error as RFC 9457 has it. Type is "about:blank": Status says what kind of error it is.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Stage  string `json:"stage,omitempty"`  // of a refused policy: where its preparation ended
	Digest string `json:"digest,omitempty"` // of a refused policy
}

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
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		s.log.Error("admin request failed", "method", c.Method(), "path", c.Path(), "error", err)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, ProblemType)
	return c.Status(p.Status).Send(body)
}

func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var fe *fiber.Error
	if errors.As(err, &fe) {
		return problem(fe.Code, fe.Message)
	}
	return problem(http.StatusInternalServerError, "see the server's log")
}

func problem(status int, detail string) *Problem {
	title := http.StatusText(status)
	if detail == title {
		detail = ""
	}
	return &Problem{Type: "about:blank", Title: title, Status: status, Detail: detail}
}
