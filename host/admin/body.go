package admin

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// BodyLimit is the largest policy that can be pushed, in bytes.
const BodyLimit = 32 << 20

// wasmTypes are what a module may be called; "" is a client that does not say.
var wasmTypes = []string{"application/wasm", "application/octet-stream", ""}

// readBody reads a request's body of one of the media types, up to limit bytes. Nothing of it is read before, so that who
// may not send one cannot make the server hold it.
func readBody(c *fiber.Ctx, limit int, types []string) ([]byte, error) {
	kind := c.Get(fiber.HeaderContentType)
	if parsed, _, err := mime.ParseMediaType(kind); err == nil {
		kind = parsed
	}
	if !slices.Contains(types, kind) {
		return nil, problem(http.StatusUnsupportedMediaType, CodeMediaType, fmt.Sprintf("the body is %q; send it with Content-Type: %s", kind, types[0]))
	}
	if enc := c.Get(fiber.HeaderContentEncoding); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, problem(http.StatusUnsupportedMediaType, CodeMediaType, fmt.Sprintf("Content-Encoding %q is not taken; send the body as it is", enc))
	}
	tooLarge := problem(http.StatusRequestEntityTooLarge, CodeTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
	if c.Request().Header.ContentLength() > limit {
		return nil, tooLarge
	}
	stream := c.Context().RequestBodyStream()
	if stream == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(stream, int64(limit)+1))
	var te interface{ Timeout() bool }
	switch {
	case errors.As(err, &te) && te.Timeout():
		return nil, problem(http.StatusRequestTimeout, CodeTimeout, "the body did not come in time")
	case err != nil:
		return nil, problem(http.StatusBadRequest, CodeBadBody, "the body broke off: "+err.Error())
	case len(data) > limit:
		return nil, tooLarge
	}
	return data, nil
}

// skipTime is how long a refused body is read on.
const skipTime = 2 * time.Second

// skipBody reads what a refused client still sends, so that it gets to the answer: a connection that is closed under a
// writer is reset, and the answer lost. It holds nothing of it, and reads no more than might have been taken.
func skipBody(c *fiber.Ctx) {
	stream := c.Context().RequestBodyStream()
	if stream == nil || c.Context().Conn().SetReadDeadline(time.Now().Add(skipTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, stream, BodyLimit) // whatever ends it, the answer goes out
}
