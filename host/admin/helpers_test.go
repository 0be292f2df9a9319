package admin

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/registry"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// api is a running admin API over a real policy host.
type api struct {
	t      *testing.T
	url    string
	token  string
	server *Server
	host   *plugins.Host
	log    *logBuffer
	client http.Client
}

type logBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// cacheDir keeps compiled policies for the time of the tests: compiling one takes a second.
var cacheDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sluice-admin-test")
	if err != nil {
		panic(err)
	}
	cacheDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// start serves o, completed with a policy host and a status, on a free port.
func start(t *testing.T, o Options) *api {
	t.Helper()
	return startOn(t, "127.0.0.1:0", registry.Options{}, o)
}

func startOn(t *testing.T, addr string, trust registry.Options, o Options) *api {
	t.Helper()
	rt, err := wazero.New(wazero.Options{CacheDir: cacheDir})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := registry.Open(trust)
	if err != nil {
		t.Fatal(err)
	}
	host := plugins.New(rt, plugins.Options{OnEvent: reg.OnEvent})
	if _, err := reg.Start(context.Background(), host, nil, false); err != nil {
		t.Fatal(err)
	}
	a := &api{t: t, token: o.Token, host: host, log: &logBuffer{}}
	o.Log = slog.New(slog.NewTextHandler(a.log, nil))
	o.Policies = reg
	if o.Status == nil {
		o.Status = func(context.Context) (Status, error) { return Status{Version: "test", State: "running"}, nil }
	}
	ln, err := Listen(addr, o.Token)
	if err != nil {
		t.Fatal(err)
	}
	a.url, a.server = "http://"+ln.Addr().String(), New(o)
	if path, ok := SocketPath(addr); ok {
		a.url = "http://localhost"
		a.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}}
		t.Cleanup(a.client.CloseIdleConnections)
	}
	done := make(chan error, 1)
	go func() { done <- a.server.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
		host.Close()
		rt.Close()
	})
	return a
}

// do sends a request and returns status, headers and body. edit changes the request; nil does not.
func (a *api) do(method, path, body string, edit func(*http.Request)) (int, http.Header, string) {
	a.t.Helper()
	req, err := http.NewRequest(method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if method == http.MethodPut {
		req.Header.Set("Content-Type", "application/wasm")
		if strings.HasPrefix(body, "{") {
			req.Header.Set("Content-Type", "application/json")
		}
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	if edit != nil {
		edit(req)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	documented(a.t, req, body, resp.StatusCode, resp.Header, string(data))
	return resp.StatusCode, resp.Header, string(data)
}

// problem expects an error answer of that status and returns it.
func (a *api) problem(want int, method, path, body string, edit func(*http.Request)) Problem {
	a.t.Helper()
	code, header, text := a.do(method, path, body, edit)
	var p Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil || code != want || header.Get("Content-Type") != ProblemType ||
		p.Status != want || p.Title != http.StatusText(want) || p.Type != "about:blank" || p.Code == "" ||
		p.Instance != "urn:uuid:"+header.Get("X-Request-Id") {
		a.t.Errorf("%s %s: %d %s %s (%v), want a problem %d", method, path, code, header.Get("Content-Type"), text, err, want)
	}
	return p
}

// json expects a success and decodes it.
func (a *api) json(method, path, body string, into any) {
	a.t.Helper()
	code, _, text := a.do(method, path, body, nil)
	if code != http.StatusOK {
		a.t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		a.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}
