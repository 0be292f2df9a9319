package server_test

import (
	"bufio"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/engine"
)

// When memory is short and all else was given up, newcomers get a 503 and what runs or waits goes on; when it is back, all are served.
func TestWhenMemoryIsShortNewcomersAreRefusedAndTheOthersFinish(t *testing.T) {
	var used atomic.Int64
	o := slow(1)
	o.Engine = func(c *engine.Config) {
		c.Tick = time.Millisecond
		c.Memory = engine.Memory{Limit: 1000, Read: used.Load, Every: time.Millisecond}
	}
	f := start(t, o)
	_, stream := f.dial(t, "/v1/completions", `{"prompt":"abc","max_tokens":400,"ignore_eos":true,"stream":true}`)
	f.Await(t, "ran", running(1))
	_, queued := f.dial(t, "/v1/completions", `{"prompt":"abc","max_tokens":3,"ignore_eos":true}`)
	f.Await(t, "waited", waiting(1))
	used.Store(2000)
	refused := func() bool {
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`, "x-sluice-queue-ttl", "5ms")
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Fatalf("a newcomer got %d %v %s", resp.StatusCode, resp.Header, body)
		}
		return readError(t, body).Error.Code == "capacity" // and not "ttl"
	}
	for !refused() {
	}
	for _, r := range []*bufio.Reader{stream, queued} {
		resp, err := readHTTP(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if whole := strings.HasSuffix(string(body), "data: [DONE]\n\n") || strings.Contains(string(body), `"finish_reason":"length"`); err != nil || resp.StatusCode != 200 || !whole {
			t.Errorf("what was taken before ended with %d, %v: %s", resp.StatusCode, err, body)
		}
		resp.Body.Close()
	}
	used.Store(0)
	for refusals := 0; ; refusals++ {
		if resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`); resp.StatusCode == 200 {
			break
		} else if resp.StatusCode != 503 || refusals > 10_000 {
			t.Fatalf("with memory back a newcomer got %d %s", resp.StatusCode, body)
		}
	}
}
