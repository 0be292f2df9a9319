package store

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/trace"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// noon is a moment of 2 December 2026.
const noon = int64(1_796_212_800_000_000_000)

const dayNS = int64(24 * time.Hour)

func at(unixNS int64) func() time.Time { return func() time.Time { return time.Unix(0, unixNS) } }

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet
	}
	if o.now == nil {
		o.now = at(noon)
	}
	if o.MinFree == 0 {
		o.MinFree = 1
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func record(id string, arrival int64, class string) *trace.Record {
	v := func(ns int64) *int64 { return &ns }
	return &trace.Record{
		V: trace.Version, ID: id, Arrival: arrival, Class: class, PromptTokens: 9, MaxTokens: 8, OutputTokens: 4,
		Outcome: "length", Status: 200, Queue: v(5), TTFT: v(10), TPOT: v(30), MaxGap: v(60), E2E: 100, Emissions: 3,
		Gaps: []trace.Gap{{NS: 0, Tokens: 1}, {NS: 30, Tokens: 1}, {NS: 60, Tokens: 2}},
	}
}

func put(t testing.TB, s *Store, records ...*trace.Record) {
	t.Helper()
	for _, r := range records {
		if !s.Put(r) {
			t.Fatalf("record %s was not taken in", r.ID)
		}
	}
	if err := s.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// fill puts n records, a second apart.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	for i := range n {
		for !s.Put(record(fmt.Sprint("r", i), noon+int64(i)*1e9, "default")) {
			if err := s.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func ids(t testing.TB, s *Store, q Query) ([]string, Report) {
	t.Helper()
	var out []string
	rep, err := s.Scan(context.Background(), q, func(r *trace.Record) error {
		out = append(out, r.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, rep
}

func wantIDs(t testing.TB, s *Store, q Query, want ...string) {
	t.Helper()
	if got, _ := ids(t, s, q); !slices.Equal(got, want) {
		t.Errorf("%+v: %v, want %v", q, got, want)
	}
}

// files finds files of the day of noon.
func files(t testing.TB, dir, pattern string) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(dir, dayOf(noon), pattern))
	if err != nil || len(out) == 0 {
		t.Fatalf("no %s in the day's directory: %v", pattern, err)
	}
	return out
}
