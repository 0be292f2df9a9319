package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/host/trace/store"
)

const records = 1000

var base = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// fill stores records a second apart, every fourth of class batch.
func fill(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir(), store.Options{Ring: records, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range records {
		r := &trace.Record{
			V: trace.Version, ID: fmt.Sprint("r", i), Arrival: base.Add(time.Duration(i) * time.Second).UnixNano(), Class: "default",
			PromptTokens: 3, MaxTokens: 4, Outcome: "shed_at_arrival", Status: 503, E2E: 1,
			Admit: trace.Decider{Policy: "native"}, Prioritize: trace.Decider{Policy: "native"},
			Batch: trace.Decider{Policy: "native"}, Spec: trace.Decider{Policy: "native"},
		}
		if i%4 == 0 {
			r.Class = "batch"
		}
		if !s.Put(r) {
			t.Fatal("the store dropped a record")
		}
	}
	if err := s.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTraces(t *testing.T) {
	a := start(t, Options{Traces: fill(t)})
	at := func(i int) string { return base.Add(time.Duration(i) * time.Second).Format(time.RFC3339) }
	for _, c := range []struct {
		query       string
		n           int
		first, last string
	}{
		{"", records, "r0", "r999"},
		{"?limit=3", 3, "r997", "r999"},
		{"?limit=0", records, "r0", "r999"},
		{"?limit=1000000", records, "r0", "r999"},
		{"?since=" + at(990), 10, "r990", "r999"},
		{"?class=batch&limit=2", 2, "r992", "r996"},
		{"?class=batch&since=" + at(990), 2, "r992", "r996"},
		{"?class=nobody", 0, "", ""},
		{"?since=1ns", 0, "", ""},
	} {
		code, header, body := a.do("GET", "/v1/traces"+c.query, "", nil)
		if code != 200 || header.Get("Content-Type") != NDJSON {
			t.Errorf("%s: %d %s", c.query, code, header.Get("Content-Type"))
		}
		r := trace.NewReader(strings.NewReader(body), trace.Options{})
		var ids []string
		for {
			rec, err := r.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", c.query, err)
			}
			ids = append(ids, rec.ID)
		}
		if len(ids) != c.n || (c.n > 0 && (ids[0] != c.first || ids[c.n-1] != c.last)) {
			t.Errorf("%s: %d records, %.40v...", c.query, len(ids), ids)
		}
	}
	for _, query := range []string{"?limit=-1", "?limit=x", "?limit=1000001", "?since=yesterday", "?since=-1m"} {
		a.problem(400, "GET", "/v1/traces"+query, "", nil)
	}
}

// breaking fails in the middle of a scan, as a damaged disk does, or panics.
type breaking struct {
	*store.Store
	panics bool
}

func (b breaking) Scan(ctx context.Context, q store.Query, fn func(*trace.Record) error) (store.Report, error) {
	n := 0
	return b.Store.Scan(ctx, q, func(r *trace.Record) error {
		if n++; n > records/2 {
			if b.panics {
				panic("scan")
			}
			return errors.New("bad sector")
		}
		return fn(r)
	})
}

// A client can tell a stream that broke off from one that is whole, and the server lives.
func TestTraceStreamThatBreaksIsNotWhole(t *testing.T) {
	s := fill(t)
	for _, panics := range []bool{false, true} {
		a := start(t, Options{Traces: breaking{s, panics}})
		resp, err := http.Get(a.url + "/v1/traces")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 {
			t.Errorf("panics %v: %d bytes, error %v", panics, n, err)
		}
		if code, _, _ := a.do("GET", "/healthz", "", nil); code != 200 {
			t.Errorf("panics %v: health %d", panics, code)
		}
		if !strings.Contains(a.log.String(), "trace stream") {
			t.Errorf("panics %v: nothing is logged", panics)
		}
	}
}

// endless has more records than any client reads.
type endless struct{ ended chan error }

func (e endless) Scan(_ context.Context, _ store.Query, fn func(*trace.Record) error) (store.Report, error) {
	for {
		if err := fn(&trace.Record{ID: "r"}); err != nil {
			e.ended <- err
			return store.Report{}, err
		}
	}
}

// A client that goes away ends the scan.
func TestTraceStreamEndsWithItsClient(t *testing.T) {
	e := endless{make(chan error, 1)}
	a := start(t, Options{Traces: e})
	resp, err := http.Get(a.url + "/v1/traces")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := <-e.ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the scan ended with %v", err)
	}
}
