package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
)

// slow is a device that takes its time, one place wide.
func slow(places int) options { return options{Sim: sim.Options{Wall: 0.3, MaxSeqs: places}} }

func long(route string, stream bool) string {
	prompt := `"prompt":"abc"`
	if strings.HasSuffix(route, "chat/completions") {
		prompt = `"messages":[{"role":"user","content":"abc"}]`
	}
	return fmt.Sprintf(`{"max_tokens":400,"ignore_eos":true,"stream":%v,%s}`, stream, prompt)
}

// hangUp ends a connection in one of the ways in which clients vanish.
func hangUp(t *testing.T, c *net.TCPConn, how string) {
	t.Helper()
	if how == "reset" {
		if err := c.SetLinger(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAGoneClientFreesItsPlace(t *testing.T) {
	for _, how := range []string{"fin", "reset"} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s while running, stream %v", how, stream), func(t *testing.T) {
				f := start(t, slow(1))
				c, r := f.dial(t, "/v1/completions", long("", stream))
				if stream { // several tokens have arrived
					for range 8 {
						if _, err := r.ReadString('\n'); err != nil {
							t.Fatal(err)
						}
					}
				} else {
					f.Await(t, "ran", running(1))
				}
				hangUp(t, c, how)
				f.Await(t, "freed the place", idle)
				f.checkLast(t, sched.OutcomeCancelledRunning)
			})
			t.Run(fmt.Sprintf("%s while queued, stream %v", how, stream), func(t *testing.T) {
				f := start(t, slow(1))
				f.dial(t, "/v1/completions", long("", true))
				f.Await(t, "ran", running(1))
				c, _ := f.dial(t, "/v1/chat/completions", long("/v1/chat/completions", stream))
				f.Await(t, "waited", waiting(1))
				hangUp(t, c, how)
				f.Await(t, "left the queue", waiting(0))
				if f.Snapshot(t).State.Running != 1 {
					t.Error("the other request does not run any more")
				}
				f.checkLast(t, sched.OutcomeCancelledInQueue)
			})
		}
	}
}

func (f *fixture) checkLast(t *testing.T, want sched.Outcome) {
	t.Helper()
	var all []trace.Record
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if all = f.Records(); len(all) > 0 && all[len(all)-1].Outcome == want.String() {
			return
		}
	}
	t.Errorf("%d records, want the last to be %v: %+v", len(all), want, all)
}

func TestManyClientsVanishAtOnce(t *testing.T) {
	n := uint32(min(1000, raise(t)))
	f := start(t, slow(4))
	f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`) // now all is there that serves
	f.client.CloseIdleConnections()
	before := serving()
	conns := make([]*net.TCPConn, n)
	for i := range conns {
		conns[i], _ = f.dial(t, "/v1/completions", long("", i%2 == 0))
	}
	f.Await(t, "took all in", func(s engine.Snapshot) bool { return s.State.Running+s.State.WaitingRequests == n })
	if serving() <= before {
		t.Error("requests have no goroutines: the count says nothing")
	}
	for i, c := range conns {
		hangUp(t, c, []string{"fin", "reset"}[i%2])
	}
	f.Await(t, "freed everything", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == int(n)+1 })
	for _, r := range f.Records()[1:] {
		if r.Outcome != sched.OutcomeCancelledRunning.String() && r.Outcome != sched.OutcomeCancelledInQueue.String() {
			t.Errorf("request %s ended as %s", r.ID, r.Outcome)
		}
	}
	f.Await(t, "ended the goroutines of those who left", func(engine.Snapshot) bool { return serving() <= before })
	if resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`); resp.StatusCode != 200 {
		t.Errorf("the next request got %d %s", resp.StatusCode, body)
	}
}

// serving is how many goroutines are inside the server's code.
func serving() (n int) {
	buf := make([]byte, 16<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "/host/server.") {
			n++
		}
	}
	return n
}

// The watcher reads no bytes: a connection is as good as new after it, and requests that came early are served.
func TestConnectionsAreUsedAgain(t *testing.T) {
	f := start(t, options{})
	body := `{"prompt":"x","max_tokens":2,"stream":%v}`
	c, r := f.dial(t, "/v1/completions", fmt.Sprintf(body, true))
	one := func(stream bool) string {
		b := fmt.Sprintf(body, stream)
		return fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(b), b)
	}
	for i := range 4 { // two in one write, while the first is still answered
		if _, err := c.Write([]byte(one(i%2 == 0) + one(i%2 == 1))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 9 {
		if code := readResponse(t, r); code != 200 {
			t.Fatalf("answer %d has status %d", i, code)
		}
	}
	f.Await(t, "became idle", idle)
}

func readResponse(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	resp, err := readHTTP(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// A client that does not read is cut off by the engine's bounded channel; the others do not notice.
func TestASlowReaderIsCancelledAlone(t *testing.T) {
	f := start(t, options{Engine: func(c *engine.Config) { c.Buffer = 64 }, Sim: sim.Options{Wall: 0.05, ContextTokens: 2000}})
	c := f.connect(t, 4<<10)
	f.write(t, c, "/v1/completions", `{"prompt":"abc","max_tokens":1900,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		"x-request-id", strings.Repeat("i", 128))
	resp, _ := f.post(t, "/v1/completions", `{"prompt":"abc","max_tokens":20,"ignore_eos":true}`)
	if resp.StatusCode != 200 {
		t.Errorf("the other request got %d", resp.StatusCode)
	}
	f.Await(t, "ended both", idle)
	f.checkLast(t, sched.OutcomeCancelledRunning)
	// It is told so once it reads on.
	all, _ := io.ReadAll(c)
	if e := errorEvent(t, strings.ReplaceAll(string(all), "\r\n", "")); !strings.Contains(string(all), `"code":"slow_consumer"`) {
		t.Errorf("the slow reader was told %+v", e)
	}
}

// The tenant of a request is kept beyond its handler: it must not change when the connection's buffers are used again.
func TestTenantsStayApart(t *testing.T) {
	f := start(t, options{})
	const n = 50
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`, "x-sluice-tenant", fmt.Sprintf("tenant-%02d", i), "x-request-id", fmt.Sprintf("id-%02d", i))
		})
		if i%10 == 9 {
			wg.Wait() // connections are used again
		}
	}
	wg.Wait()
	f.Await(t, "became idle", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == n })
	tenants, ids := map[string]bool{}, map[string]bool{}
	for _, r := range f.Records() {
		tenants[r.Tenant], ids[r.ID] = true, true
		if !strings.Contains(f.Log(), "tenant="+r.Tenant) {
			t.Errorf("the log does not name tenant %s as the trace does", r.Tenant)
		}
	}
	if len(tenants) != n || len(ids) != n {
		t.Errorf("%d tenants and %d ids of %d", len(tenants), len(ids), n)
	}
	if strings.Contains(f.Log(), "tenant-01") {
		t.Error("the log holds the tenant's own name")
	}
}
