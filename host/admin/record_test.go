package admin

import (
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/admin/audit"
	"github.com/sluice-dev/sluice/plugins/registry"
)

// entries collects what is written down.
type entries struct {
	mu  sync.Mutex
	all []audit.Entry
}

func (e *entries) Write(x audit.Entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, x)
	return nil
}

// take returns the only entry since the last call, nil when there is none.
func (e *entries) take(t *testing.T) *audit.Entry {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.all = nil }()
	switch len(e.all) {
	case 0:
		return nil
	case 1:
		return &e.all[0]
	}
	t.Fatalf("%d entries: %+v", len(e.all), e.all)
	return nil
}

// Every change and every refusal is written down with who, what and how it ended; reads are not; the token never is.
func TestAudit(t *testing.T) {
	wasm := module(t)
	log := &entries{}
	a := start(t, Options{Token: "secret", Audit: log})
	for _, c := range []struct {
		name, method, path, body, token string
		want                            audit.Entry // but for time, request, remote and detail
	}{
		{"push", "PUT", "/v1/policies/p?set=max_age=5s&why=" + url.QueryEscape("queue is long"), wasm, "secret",
			audit.Entry{Who: "token", Policy: "p", Why: "queue is long", Status: 200}},
		{"refused push", "PUT", "/v1/policies/p", "junk", "secret",
			audit.Entry{Who: "token", Policy: "p", Status: 422, Code: "policy_refused"}},
		{"dry run", "PUT", "/v1/policies/p?dry_run=1", wasm, "secret", audit.Entry{Who: "token", Policy: "p", DryRun: true, Status: 200}},
		{"bad name", "PUT", "/v1/policies/native", "x", "secret", audit.Entry{Who: "token", Status: 400, Code: "bad_policy_name"}},
		{"rollback of nothing", "POST", "/v1/policies/q/rollback?why=oops", "", "secret",
			audit.Entry{Who: "token", Policy: "q", Why: "oops", Status: 404, Code: "unknown_policy"}},
		{"remove", "DELETE", "/v1/policies/p", "", "secret", audit.Entry{Who: "token", Policy: "p", Status: 204}},
		{"no route", "POST", "/v1/nothing", "", "secret", audit.Entry{Who: "token", Status: 404, Code: "unknown_route"}},
		{"wrong token", "PUT", "/v1/policies/p", "x", "guess", audit.Entry{Who: "anonymous", Status: 401, Code: "unauthorized"}},
		{"wrong token of a reader", "GET", "/v1/policies", "", "guess", audit.Entry{Who: "anonymous", Status: 401, Code: "unauthorized"}},
	} {
		a.token = c.token
		code, header, body := a.do(c.method, c.path, c.body, nil)
		got := log.take(t)
		if got == nil {
			t.Errorf("%s: %d %s is not written down", c.name, code, body)
			continue
		}
		path, _, _ := strings.Cut(c.path, "?")
		want := c.want
		want.Method, want.Path = c.method, path
		want.Time, want.Remote, want.Request, want.Detail, want.Digest = got.Time, got.Remote, got.Request, got.Detail, got.Digest
		if *got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, *got, want)
		}
		if code != got.Status || header.Get("X-Request-Id") != got.Request || got.Time.IsZero() || !strings.HasPrefix(got.Remote, "127.0.0.1:") {
			t.Errorf("%s: %d, %+v", c.name, code, got)
		}
		if sent := got.Policy != "" && c.method == "PUT"; sent != (len(got.Digest) == 64) {
			t.Errorf("%s: digest %q", c.name, got.Digest)
		}
		if line := a.log.String(); strings.Contains(line, "secret") || strings.Contains(line, "guess") || !strings.Contains(line, got.Request) {
			t.Errorf("%s: the log tells the token, or not the request:\n%s", c.name, line)
		}
	}
	a.token = "secret"
	for _, path := range []string{"/v1/policies", "/v1/status", "/healthz", "/nothing"} {
		if a.do("GET", path, "", nil); log.take(t) != nil {
			t.Errorf("a read of %s is written down", path)
		}
	}
	a.do("GET", "/v1/policies", "", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
	if e := log.take(t); e == nil || e.Status != 403 || e.Code != string(CodeForeignPage) {
		t.Errorf("a foreign page: %+v", e)
	}
	a.problem(400, "DELETE", "/v1/policies/p?why="+strings.Repeat("x", registry.MaxWhy+1), "", nil)
	a.problem(400, "DELETE", "/v1/policies/p?why=%ff", "", nil)
}

// Who guesses tokens cannot push what others did out of the files, and is counted; who has one is always written down.
func TestAuditUnderAFlood(t *testing.T) {
	log := &entries{}
	s := New(Options{Policies: new(registry.Registry), Audit: log, Log: slog.New(slog.DiscardHandler)})
	now := time.Now()
	guess := func() { s.write(&audit.Entry{Time: now, Who: whoAnonymous, Status: 401}) }
	for range 10 * floodBurst {
		guess()
	}
	if n := len(log.all); n != floodBurst {
		t.Errorf("%d of %d guesses are written down", n, 10*floodBurst)
	}
	s.write(&audit.Entry{Time: now, Who: whoToken, Status: 401})
	s.write(&audit.Entry{Time: now, Who: whoAnonymous, Status: 200})
	if n := len(log.all); n != floodBurst+2 {
		t.Errorf("%d entries: a flood hides what others do", n)
	}
	now = now.Add(2 * time.Second)
	guess()
	if n := len(log.all); n != floodBurst+3 || log.all[n-1].Skipped != 9*floodBurst {
		t.Errorf("after a pause: %d entries, the last %+v", n, log.all[n-1])
	}
}

type fullDisk struct{}

func (fullDisk) Write(audit.Entry) error { return os.ErrInvalid }

// What cannot be written down is done all the same, and the log says so.
func TestAuditThatFails(t *testing.T) {
	a := start(t, Options{Audit: fullDisk{}})
	a.problem(404, "DELETE", "/v1/policies/p", "", nil)
	if log := a.log.String(); !strings.Contains(log, "audit log lost an entry") {
		t.Errorf("log:\n%s", log)
	}
}

// Over the socket no token is needed: who may open the file is who it belongs to, and that is written down.
func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	log := &entries{}
	a := startOn(t, "unix:"+path, registry.Options{}, Options{Token: "secret", Audit: log})
	a.token = ""
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others can connect", info.Mode(), err)
	}
	var list PolicyList
	a.json("GET", "/v1/policies", "", &list)
	a.problem(404, "DELETE", "/v1/policies/p", "", nil)
	if e := log.take(t); e == nil || e.Who != "uid:"+strconv.Itoa(os.Getuid()) || e.Remote != "" || e.Status != 404 {
		t.Errorf("written down: %+v", e)
	}
	a.problem(403, "GET", "/v1/policies", "", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })

	if ln, err := Listen("unix:"+path, ""); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a socket that is listened on was taken over: %v, %v", ln, err)
	}
}

func TestSocketOfAServerThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	ln, err := Listen("unix:"+path, "")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket stays behind: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen("unix:"+path, ""); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a file in the socket's place: %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "mine" {
		t.Errorf("the file holds %q", data)
	}
}
