package admin

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/sluice-dev/sluice/host/admin/audit"
	"github.com/sluice-dev/sluice/plugins/registry"
)

// Auditor keeps the entries. Its methods may be called from any goroutine.
type Auditor interface {
	Write(audit.Entry) error
}

// What stands in audit.Entry.Who when it is no uid.
const (
	whoToken     = "token"
	whoAnonymous = "anonymous"
)

type entryKey struct{}

// entryOf is the audit entry of the request in progress; handlers fill in what only they know.
func entryOf(c *fiber.Ctx) *audit.Entry {
	if e, ok := c.Locals(entryKey{}).(*audit.Entry); ok {
		return e
	}
	e := &audit.Entry{Request: newRequestID()} // a request that was too broken for any handler
	c.Locals(entryKey{}, e)
	return e
}

func requestID(c *fiber.Ctx) string { return entryOf(c).Request }

func newRequestID() string {
	return uuid.Must(uuid.NewV7()).String() // fails only when the system has no randomness
}

// record answers errors, and writes down each request that changes something and each that is refused for what it is.
func (s *Server) record(c *fiber.Ctx) error {
	e := &audit.Entry{Time: time.Now().UTC(), Request: newRequestID(), Method: c.Method(), Path: c.Path(), Who: whoAnonymous}
	c.Locals(entryKey{}, e)
	c.Set(fiber.HeaderXRequestID, e.Request)
	if conn, ok := c.Context().Conn().(*net.UnixConn); ok {
		if uid, err := peerUID(conn); err == nil {
			e.Who = "uid:" + strconv.FormatUint(uint64(uid), 10)
		}
	} else {
		e.Remote = c.Context().RemoteAddr().String()
	}
	err := c.Next()
	if err != nil {
		p := problemOf(c, err)
		e.Code, e.Detail = string(p.Code), p.Detail
		skipBody(c)
		err = s.handleError(c, err)
	}
	if e.Status = c.Response().StatusCode(); changes(e.Method) || refusal(e.Status) {
		s.write(e)
	}
	return err
}

// changes tells whether a method may change something.
func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

func refusal(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPreconditionFailed,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// write also logs the entry: a log that is shipped elsewhere outlives this machine.
func (s *Server) write(e *audit.Entry) {
	if e.Who == whoAnonymous && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) {
		ok := false
		if ok, e.Skipped = s.flood.pass(e.Time); !ok {
			return
		}
	}
	s.log.Info("audit", "request", e.Request, "who", e.Who, "remote", e.Remote, "method", e.Method, "path", e.Path,
		"policy", e.Policy, "digest", e.Digest, "why", e.Why, "status", e.Status, "code", e.Code, "skipped", e.Skipped)
	if s.o.Audit == nil {
		return
	}
	if err := s.o.Audit.Write(*e); err != nil {
		s.log.Error("the audit log lost an entry", "request", e.Request, "error", err)
	}
}

// readWhy puts the reason of a change into its audit entry.
func readWhy(c *fiber.Ctx, why string) error {
	if len(why) > registry.MaxWhy || !utf8.ValidString(why) {
		return problem(http.StatusBadRequest, CodeBadRequest, fmt.Sprintf("why is UTF-8 of at most %d bytes", registry.MaxWhy))
	}
	entryOf(c).Why = strings.Clone(why)
	return nil
}

// overSocket tells whether the request came over a unix socket.
func overSocket(c *fiber.Ctx) bool {
	_, ok := c.Context().Conn().(*net.UnixConn)
	return ok
}

var _ Auditor = (*audit.Log)(nil)
