package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/host/trace/store"
)

// Traces is the trace store as the API needs it.
type Traces interface {
	Scan(ctx context.Context, q store.Query, fn func(*trace.Record) error) (store.Report, error)
}

// TraceQuery chooses records.
type TraceQuery struct {
	Since time.Time // arrivals from then on; zero = all
	Class string    // "" = all
	Limit int       // the newest so many; 0 = all
}

// MaxLimit bounds TraceQuery.Limit: the newest records are held in memory to be turned round.
const MaxLimit = 1_000_000

// Scan calls fn for the records that q asks for, oldest first.
func (q TraceQuery) Scan(ctx context.Context, t Traces, fn func(*trace.Record) error) (store.Report, error) {
	sq := store.Query{Class: q.Class, Limit: q.Limit}
	if !q.Since.IsZero() {
		sq.From = q.Since.UnixNano()
	}
	if q.Limit == 0 {
		return t.Scan(ctx, sq, fn)
	}
	var newest []*trace.Record
	sq.NewestFirst = true
	report, err := t.Scan(ctx, sq, func(r *trace.Record) error {
		newest = append(newest, r)
		return nil
	})
	if err != nil {
		return report, err
	}
	for _, r := range slices.Backward(newest) {
		if err := fn(r); err != nil {
			return report, err
		}
	}
	return report, nil
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
	report, err := q.Scan(ctx, s.o.Traces, w.Write)
	if err == nil {
		err = w.Flush()
	}
	for _, d := range report.Damaged {
		s.log.Warn("traces are damaged", "damage", d.String())
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
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 || q.Limit > MaxLimit {
			return q, problem(http.StatusBadRequest, CodeBadQuery, fmt.Sprintf("limit=%q is not a number of records from 0 to %d", text, MaxLimit))
		}
	}
	if text := c.Query("since"); text != "" {
		if q.Since, err = ParseSince(text, time.Now()); err != nil {
			return q, problem(http.StatusBadRequest, CodeBadQuery, err.Error())
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

var _ Traces = (*store.Store)(nil)
