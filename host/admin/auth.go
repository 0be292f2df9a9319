package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// authorize lets a request with the right bearer token pass, and one over the unix socket, whose file's mode has decided
// already. Digests are compared, so that neither content nor length shows in the time taken.
func (s *Server) authorize(c *fiber.Ctx) error {
	if s.o.Token == "" || overSocket(c) {
		return c.Next()
	}
	scheme, token, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.o.Token))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
		return problem(fiber.StatusUnauthorized, CodeUnauthorized, "this API needs the admin token as a bearer token")
	}
	entryOf(c).Who = whoToken
	return c.Next()
}

// guardBrowser keeps web pages out, which can reach a loopback listener from their user's browser: a page sends its own
// origin, and a name that was rebound to 127.0.0.1 stands in Host.
func (s *Server) guardBrowser(c *fiber.Ctx) error {
	host := c.Get(fiber.HeaderHost)
	if origin := c.Get(fiber.HeaderOrigin); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, host) {
			return problem(fiber.StatusForbidden, CodeForeignPage, "requests from other web origins are not served")
		}
	}
	if s.o.Token == "" && !overSocket(c) && !loopback(host) {
		return problem(fiber.StatusForbidden, CodeForeignPage, "without a token only a loopback address may stand in Host")
	}
	return c.Next()
}
