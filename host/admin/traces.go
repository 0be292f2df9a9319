package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/host/trace"
)

// Traces is the trace store as the API needs it.
type Traces interface {
	// Scan calls fn for the records that q asks for, oldest first, until fn or ctx ends it. It may be called from any
	// goroutine.
	Scan(ctx context.Context, q TraceQuery, fn func(*trace.Record) error) error
}

// TraceQuery chooses records.
type TraceQuery struct {
	Since time.Time // arrivals from then on; zero = all
	Class string    // "" = all
	Limit int       // the newest so many; 0 = all
}

// NDJSON is the media type of a stream of records.
const NDJSON = "application/x-ndjson"

func (s *Server) streamTraces(c *fiber.Ctx) error {
	q, err := traceQuery(c)
	if err != nil {
		return err
	}
	pr, pw := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	go s.writeTraces(ctx, pw, q)
	c.Set(fiber.HeaderContentType, NDJSON)
	// The reader's error cuts the chunked body short, so that a client can tell a broken stream from a whole one.
	c.Context().SetBodyStream(&traceBody{pr, cancel}, -1)
	return nil
}

// writeTraces runs in its own goroutine, where a panic would end the process.
func (s *Server) writeTraces(ctx context.Context, pw *io.PipeWriter, q TraceQuery) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("trace stream panicked", "panic", p)
			pw.CloseWithError(fmt.Errorf("trace stream panicked: %v", p))
		}
	}()
	w := trace.NewWriter(pw)
	err := s.o.Traces.Scan(ctx, q, w.Write)
	if err == nil {
		err = w.Flush()
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("trace stream broke off", "error", err)
	}
	pw.CloseWithError(err)
}

// traceBody stops the scan when the client is gone.
type traceBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer; fasthttp calls it once the body is sent or cannot be sent.
func (b *traceBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

func traceQuery(c *fiber.Ctx) (q TraceQuery, err error) {
	q.Class = strings.Clone(c.Query("class"))
	if text := c.Query("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 {
			return q, fiber.NewError(http.StatusBadRequest, fmt.Sprintf("limit=%q is not a number of records", text))
		}
	}
	if text := c.Query("since"); text != "" {
		if q.Since, err = ParseSince(text, time.Now()); err != nil {
			return q, fiber.NewError(http.StatusBadRequest, err.Error())
		}
	}
	return q, nil
}

// ParseSince reads a point in time: RFC 3339, or a duration before now.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("since %q is neither a duration like 10m nor a time like 2026-01-31T12:00:00Z", text)
	}
	return t, nil
}
