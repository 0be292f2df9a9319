package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/host/trace/store"
	"github.com/spf13/cobra"
)

// traceFlags choose records, and where they come from.
type traceFlags struct {
	addr, data string
	since      string
	class      string
	limit      int
}

func newTrace(t terminal) *cobra.Command {
	f := &traceFlags{}
	cmd := group("trace", "Show and export the recorded requests", newTraceList(t, f), newTraceExport(t, f))
	adminFlag(cmd, &f.addr)
	p := cmd.PersistentFlags()
	p.StringVar(&f.data, "data", "", "read the folder of a server that does not run, instead of asking one")
	p.StringVar(&f.since, "since", "", "only requests that arrived since: 10m, or 2026-01-31T12:00:00Z")
	p.StringVar(&f.class, "class", "", "only requests of this class")
	return cmd
}

func newTraceList(t terminal, f *traceFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the newest requests",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			records := []trace.Record{}
			err := f.scan(cmd.Context(), t, func(r *trace.Record) error {
				records = append(records, *r)
				return nil
			})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(t.out, records)
			}
			return printRecords(t, records)
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how many; 0 = all")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printRecords(t terminal, records []trace.Record) error {
	var rows [][]string
	for _, r := range records {
		rows = append(rows, []string{
			time.Unix(0, r.Arrival).Format(time.DateTime), r.ID, r.Class, r.Outcome, strconv.Itoa(r.Status),
			strconv.Itoa(r.PromptTokens), strconv.Itoa(r.OutputTokens),
			millis(r.Queue), millis(r.TTFT), millis(r.TPOT), millis(r.MaxGap), decidedBy(r.Admit),
		})
	}
	return printTable(t.out, []string{"ARRIVAL", "ID", "CLASS", "OUTCOME", "STATUS", "PROMPT", "OUTPUT", "QUEUE_MS", "TTFT_MS", "TPOT_MS", "GAP_MS", "ADMITTED_BY"}, rows)
}

func decidedBy(d trace.Decider) string {
	s := d.Policy
	if d.Digest != "" {
		s += "@" + short(d.Digest)
	}
	if d.Fallback {
		s += " (fallback)"
	}
	return s
}

func newTraceExport(t terminal, f *traceFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write requests as JSON lines, oldest first; replay reads them",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := trace.NewWriter(t.out)
			if err := f.scan(cmd.Context(), t, w.Write); err != nil {
				return errors.Join(err, w.Flush())
			}
			return w.Flush()
		},
	}
	var always bool
	cmd.Flags().IntVar(&f.limit, "limit", 0, "only the newest so many; 0 = all")
	cmd.Flags().BoolVar(&always, "json", true, "accepted for symmetry: an export always is JSON lines")
	return cmd
}

// scan calls fn for each record, oldest first, from a folder or from a running server.
func (f *traceFlags) scan(ctx context.Context, t terminal, fn func(*trace.Record) error) error {
	if f.limit < 0 || f.limit > admin.MaxLimit {
		return usageErrorf("--limit must be between 0 and %d, but is %d", admin.MaxLimit, f.limit)
	}
	if f.data != "" && f.addr != "" {
		return usageErrorf("--admin and --data exclude each other: a running server holds its folder")
	}
	q := admin.TraceQuery{Class: f.class, Limit: f.limit}
	if f.since != "" {
		var err error
		if q.Since, err = admin.ParseSince(f.since, time.Now()); err != nil {
			return usageError{err}
		}
	}
	if f.data != "" {
		return scanFolder(ctx, t, f.data, q, fn)
	}
	c, err := newClient(t, f.addr)
	if err != nil {
		return err
	}
	return c.scan(ctx, q, fn)
}

// scanFolder reads the folder of a server that does not run.
func scanFolder(ctx context.Context, t terminal, dir string, q admin.TraceQuery, fn func(*trace.Record) error) (err error) {
	s, err := store.Open(dir, store.Options{ReadOnly: true, Log: slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if errors.Is(err, store.ErrNoTraces) || errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrNewer) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	report, err := q.Scan(ctx, s, fn)
	for _, d := range report.Damaged {
		fmt.Fprintf(t.err, "sluice: %s\n", d)
	}
	return err
}

// scan reads the stream of records of a running server.
func (c *client) scan(ctx context.Context, q admin.TraceQuery, fn func(*trace.Record) error) error {
	query := url.Values{}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	if q.Class != "" {
		query.Set("class", q.Class)
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	resp, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/traces", query: query})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r := trace.NewReader(resp.Body, trace.Options{Name: c.name + "/v1/traces"})
	for {
		rec, err := r.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := fn(&rec); err != nil {
			return err
		}
	}
}
