package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/host/trace"
)

// Headers of answers.
const (
	headerRequestID = "x-request-id"
	headerReason    = "x-sluice-reason"
	headerRetry     = "x-should-retry"
)

// apiError is an error as the client sees it: {"error": {message, type, param, code}} with a status.
type apiError struct {
	status  int
	message string
	param   string // "" = null
	code    string

	refused    bool // admission said no: x-sluice-reason, and when to come again
	retryAfter int  // s; 0 = coming again cannot help
}

// Error is the message.
func (e *apiError) Error() string { return e.message }

// badRequest is a 400 about one field; param is "" when it is about all of the body.
func badRequest(param, code, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, param: param, code: code, message: fmt.Sprintf(format, args...)}
}

// kind is the error's type by its status.
func (e *apiError) kind() string {
	switch e.status {
	case http.StatusNotFound:
		return "NotFoundError"
	case http.StatusMethodNotAllowed:
		return "MethodNotAllowedError"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "TimeoutError"
	case http.StatusRequestEntityTooLarge:
		return "RequestTooLargeError"
	case http.StatusTooManyRequests:
		return "RateLimitError"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailableError"
	case statusOverloaded:
		return "OverloadedError"
	}
	if e.status >= 500 {
		return "InternalServerError"
	}
	return "BadRequestError"
}

// statusOverloaded has no name in net/http.
const statusOverloaded = 529

func (e *apiError) append(b []byte) []byte {
	b = append(b, `{"error":{"message":`...)
	b = appendString(b, e.message)
	b = append(b, `,"type":`...)
	b = appendString(b, e.kind())
	b = append(b, `,"param":`...)
	if e.param == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, e.param)
	}
	b = append(b, `,"code":`...)
	b = appendString(b, e.code)
	return append(b, "}}"...)
}

// event is the error in the middle of a stream.
func (e *apiError) event(b []byte) []byte {
	b = append(b, "event: error\ndata: "...)
	b = e.append(b)
	return append(b, "\n\n"...)
}

func (e *apiError) send(c *fiber.Ctx) error {
	if e.refused {
		c.Set(headerReason, e.code)
		if e.retryAfter > 0 {
			c.Set(fiber.HeaderRetryAfter, strconv.Itoa(e.retryAfter))
		} else {
			c.Set(headerRetry, "false")
		}
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(e.status).Send(e.append(nil))
}

// handleError answers with whatever a handler or the HTTP parser returned.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	var known *apiError
	if errors.As(err, &known) {
		return known.send(c)
	}
	var fe *fiber.Error
	if !errors.As(err, &fe) {
		s.log.Error("request failed", "path", c.Path(), "request_id", string(c.Response().Header.Peek(headerRequestID)), "error", err)
		return internalError().send(c)
	}
	out := &apiError{status: fe.Code, message: withoutContents(fe.Message), code: "bad_http"}
	switch fe.Code {
	case http.StatusNotFound:
		out.message, out.code = fmt.Sprintf("%s %s is not part of this API", c.Method(), c.Path()), "unknown_route"
		lingerIfUnread(c)
	case http.StatusMethodNotAllowed:
		out.message, out.code = fmt.Sprintf("%s does not take %s", c.Path(), c.Method()), "method_not_allowed"
		lingerIfUnread(c)
	case http.StatusRequestTimeout:
		out.message, out.code = "the request did not arrive in time", "request_timeout"
	case http.StatusRequestHeaderFieldsTooLarge:
		out.message, out.code = fmt.Sprintf("the header is larger than %d bytes", headerLimit), "header_too_large"
		lingerOnClose(c)
	}
	// The parser's errors do not pass through the guard, which counts the others.
	if len(c.Response().Header.Peek(headerRequestID)) == 0 {
		s.cfg.Metrics.Response("", out.status)
	}
	return out.send(c)
}

// withoutContents is what the HTTP parser says without what it read, which holds the client's key and ends up in its logs.
func withoutContents(message string) string {
	message, _, _ = strings.Cut(message, ": buffer size=")
	message, _, _ = strings.Cut(message, `"`)
	return strings.TrimSuffix(strings.TrimRight(message, " "), " in")
}

func internalError() *apiError {
	return &apiError{status: http.StatusInternalServerError, code: "internal_error", message: "the server failed to handle this request"}
}

// clientGone is what nobody reads, unless the client only closed its sending side.
func clientGone() *apiError {
	return &apiError{status: trace.StatusClientGone, code: "client_closed_request", message: "the client closed the connection before the answer"}
}
