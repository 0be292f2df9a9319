package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/server/servertest"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The HTTP library's pool sleeps for ten seconds before it notices that it was stopped, and its clock is never stopped.
func TestMain(m *testing.M) {
	if target := os.Getenv(clientEnv); target != "" {
		beClient(target)
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

const simContext = servertest.Context

// fixture is a server with a client by hand.
type fixture struct {
	*servertest.Server
	client *http.Client
}

type options = servertest.Options

func start(t testing.TB, o options) *fixture {
	t.Helper()
	return &fixture{servertest.Start(t, o), newClient(t)}
}

func newClient(t testing.TB) *http.Client {
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// post sends a body and returns the whole answer.
func (f *fixture) post(t testing.TB, path, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, f.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return f.do(t, req)
}

func (f *fixture) do(t testing.TB, req *http.Request) (*http.Response, []byte) {
	t.Helper()
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	return resp, body
}

func (f *fixture) get(t testing.TB, path string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, f.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.do(t, req)
}

// dial sends a request by hand and returns the connection with a reader of what comes back.
func (f *fixture) dial(t testing.TB, path, body string, headers ...string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c := f.connect(t, 0)
	f.write(t, c, path, body, headers...)
	return c, bufio.NewReader(c)
}

// connect opens a connection that reads no more than a few of its buffer's bytes ahead; 0 = the system's default.
func (f *fixture) connect(t testing.TB, buffer int) *net.TCPConn {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, rc syscall.RawConn) (err error) {
		if buffer > 0 {
			_ = rc.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, buffer) })
		}
		return err
	}}
	c, err := d.Dial("tcp", f.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func (f *fixture) write(t testing.TB, c net.Conn, path, body string, headers ...string) {
	t.Helper()
	var head bytes.Buffer
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", path, len(body))
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&head, "%s: %s\r\n", headers[i], headers[i+1])
	}
	head.WriteString("\r\n" + body)
	if _, err := c.Write(head.Bytes()); err != nil {
		t.Fatal(err)
	}
}

var idle = servertest.Idle

func running(n uint32) func(engine.Snapshot) bool {
	return func(s engine.Snapshot) bool { return s.State.Running == n }
}

func waiting(n uint32) func(engine.Snapshot) bool {
	return func(s engine.Snapshot) bool { return s.State.WaitingRequests == n }
}

// apiError is the error object of an answer.
type apiError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	} `json:"error"`
}

func readError(t testing.TB, body []byte) apiError {
	t.Helper()
	var e apiError
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" || e.Error.Code == "" {
		t.Fatalf("not an error object: %v\n%s", err, body)
	}
	return e
}
