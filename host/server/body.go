package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/gofiber/fiber/v2"
)

// firstBody is how many bytes are allocated for a body before any of it has come. What comes beyond that grows with what the
// client sends: to announce a body costs nothing here.
const firstBody = 16 << 10

// lingerBytes is how much of an unread body the HTTP server discards by itself; with more it closes the connection.
const lingerBytes = 256 << 10

// requestBody reads the body. Compressed ones are refused: a small one may unpack to anything.
func (s *Server) requestBody(c *fiber.Ctx) ([]byte, error) {
	if enc := c.Get(fiber.HeaderContentEncoding); enc != "" && enc != "identity" {
		lingerIfUnread(c)
		return nil, &apiError{status: http.StatusUnsupportedMediaType, code: "unsupported_encoding", message: "compressed bodies are not supported; send the JSON as it is"}
	}
	stream, size := c.Context().RequestBodyStream(), c.Request().Header.ContentLength()
	if stream == nil {
		return c.Request().Body(), nil
	}
	if size > s.cfg.BodyLimit {
		return nil, s.tooLarge(c)
	}
	body := bytes.NewBuffer(make([]byte, 0, min(max(size, 0), firstBody)+bytes.MinRead))
	_, err := body.ReadFrom(io.LimitReader(stream, int64(s.cfg.BodyLimit)+1))
	var slow net.Error
	switch {
	case errors.As(err, &slow) && slow.Timeout():
		return nil, &apiError{status: http.StatusRequestTimeout, code: "request_timeout", message: "the request did not arrive in time"}
	case err != nil && errors.Is(err, io.ErrUnexpectedEOF), err == nil && body.Len() < size:
		return nil, clientGone()
	case err != nil:
		return nil, badRequest("", "bad_http", "the body cannot be read: %s", withoutContents(err.Error()))
	case body.Len() > s.cfg.BodyLimit:
		return nil, s.tooLarge(c)
	}
	return body.Bytes(), nil
}

func (s *Server) tooLarge(c *fiber.Ctx) *apiError {
	c.Context().SetConnectionClose()
	lingerOnClose(c)
	return &apiError{
		status: http.StatusRequestEntityTooLarge, code: "request_too_large", message: fmt.Sprintf("the body is larger than %d bytes", s.cfg.BodyLimit),
	}
}

// lingerIfUnread is for a refusal that comes before the body was read: closing then would send a reset, which overtakes it.
func lingerIfUnread(c *fiber.Ctx) {
	if n := c.Request().Header.ContentLength(); c.Context().RequestBodyStream() != nil && (n < 0 || n > lingerBytes) {
		c.Context().SetConnectionClose()
		lingerOnClose(c)
	}
}

func lingerOnClose(c *fiber.Ctx) {
	if k, ok := c.Context().Conn().(*conn); ok {
		k.linger.Store(true)
	}
}
