package server_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"golang.org/x/sys/unix"
)

// clientEnv makes this test binary a client: it sends what it holds, copies what comes back, and stays until it is killed.
const clientEnv = "SLUICE_TEST_CLIENT"

// beClient is the child's side of TestAKilledClientFreesItsPlace; see TestMain.
func beClient(target string) {
	addr, request, _ := strings.Cut(target, " ")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		os.Exit(1)
	}
	if _, err := io.WriteString(c, request); err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(os.Stdout, c)
	select {}
}

func request(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// A client's process that is killed frees what it held, in whatever state its request is.
func TestAKilledClientFreesItsPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int  // choices
		busy bool // somebody else has the only place
		ran  bool // tokens came before the kill
		want sched.Outcome
	}{
		{"while decoding", 1, false, true, sched.OutcomeCancelledRunning},
		{"while queued", 1, true, false, sched.OutcomeCancelledInQueue},
		{"all of its choices", 3, false, true, sched.OutcomeCancelledInQueue},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, slow(1))
			waits, runs := uint32(c.n-1), uint32(1)
			if c.busy {
				f.dial(t, "/v1/completions", long("", true))
				f.Await(t, "ran", running(1))
				waits = uint32(c.n)
			}
			body := fmt.Sprintf(`{"prompt":"abc","n":%d,"max_tokens":400,"ignore_eos":true,"stream":true}`, c.n)
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), clientEnv+"="+f.Addr+" "+request("/v1/completions", body))
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			f.Await(t, "took the request", func(s engine.Snapshot) bool { return s.State.Running == runs && s.State.WaitingRequests == waits })
			if c.ran {
				if _, err := io.ReadFull(out, make([]byte, 400)); err != nil {
					t.Fatal(err)
				}
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = child.Wait()
			if c.busy {
				f.Await(t, "left the queue", func(s engine.Snapshot) bool { return s.State.Running == 1 && s.State.WaitingRequests == 0 })
			} else {
				f.Await(t, "freed everything", idle)
			}
			f.Await(t, "recorded it", func(engine.Snapshot) bool { return len(f.Records()) == c.n })
			for _, r := range f.Records() {
				if r.Outcome != c.want.String() && !(c.n > 1 && r.Outcome == sched.OutcomeCancelledRunning.String()) {
					t.Errorf("it ended as %s", r.Outcome)
				}
			}
		})
	}
}

// Before the first byte of a request a client holds nothing but its connection; half a request is nothing either.
func TestAClientThatVanishesBeforeItsRequestHoldsNothing(t *testing.T) {
	f := start(t, options{})
	whole := request("/v1/completions", `{"prompt":"x"}`)
	for _, sent := range []int{0, 10, len(whole) - 5} {
		for _, how := range []string{"fin", "reset"} {
			c := f.connect(t, 0)
			if _, err := io.WriteString(c, whole[:sent]); err != nil {
				t.Fatal(err)
			}
			hangUp(t, c, how)
		}
	}
	if resp, _ := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`); resp.StatusCode != 200 {
		t.Errorf("the next request got %d", resp.StatusCode)
	}
	f.Await(t, "recorded one request", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == 1 })
}

// raise lets this process open as many files as it may, and returns how many connections with both ends here that allows.
func raise(t *testing.T) int {
	t.Helper()
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	l.Cur = l.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	return int(min(l.Cur, 1<<20)-400) / 2
}

// Connections that send nothing cost their memory and nothing else.
func TestIdleConnectionsDisturbNobody(t *testing.T) {
	n := min(10_000, raise(t))
	f := start(t, options{})
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", f.Addr)
		if err != nil {
			t.Fatalf("connection %d of %d: %v", i, n, err)
		}
		conns[i] = c
	}
	for _, stream := range []string{"true", "false"} {
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":20,"ignore_eos":true,"stream":`+stream+`}`)
		if resp.StatusCode != 200 || stream == "true" && !strings.HasSuffix(string(body), "data: [DONE]\n\n") {
			t.Errorf("beside %d idle connections: %d %s", n, resp.StatusCode, body)
		}
	}
	for _, c := range conns {
		c.Close()
	}
	f.Await(t, "recorded both", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == 2 })
}

// A request that reads more slowly than its text is made is logged and recorded as that, not as a client that left.
func TestASlowReaderIsRecordedAsOne(t *testing.T) {
	o := options{Engine: func(c *engine.Config) { c.Buffer = 64 }}
	o.Sim.Wall, o.Sim.ContextTokens = 0.05, 2000
	f := start(t, o)
	c := f.connect(t, 4<<10)
	f.write(t, c, "/v1/completions", `{"prompt":"abc","max_tokens":1900,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		"x-request-id", strings.Repeat("i", 128))
	f.Await(t, "cut it", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == 1 })
	if r := f.Records()[0]; r.Reason != "slow_consumer" || r.Status != 408 {
		t.Errorf("the record says %d %q", r.Status, r.Reason)
	}
	c.Close()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(f.Log(), "msg=request"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was never logged")
		}
	}
	if log := f.Log(); !strings.Contains(log, "status=408") || strings.Contains(log, "status=499") {
		t.Errorf("the log says\n%s", log)
	}
}

// A deadline that passes while the answer is written ends it with an error that says so.
func TestADeadlineEndsAStream(t *testing.T) {
	o := slow(1)
	o.Server = earlyConfig // so that there is a stream at the deadline, however slow the machine is
	f := start(t, o)
	c, r := f.dial(t, "/v1/completions", long("", true), "x-sluice-deadline", "80ms")
	defer c.Close()
	resp, err := readHTTP(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if e := errorEvent(t, readBroken(t, resp.Body)); e.Error.Code != "deadline" {
		t.Errorf("it was told %+v", e)
	}
	f.Await(t, "freed everything", idle)
}
