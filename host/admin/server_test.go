package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func TestTokenGuardsEverythingButHealth(t *testing.T) {
	a := start(t, Options{Token: "secret"})
	paths := []string{"/v1/status", "/v1/policies", "/debug/pprof/", "/nowhere"}
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Bearer secret2", "Basic secret", "secret"} {
		for _, path := range paths {
			p := a.problem(401, "GET", path, "", func(r *http.Request) {
				r.Header.Del("Authorization")
				if header != "" {
					r.Header.Set("Authorization", header)
				}
			})
			if strings.Contains(p.Detail, "secret") {
				t.Errorf("the answer tells the token: %q", p.Detail)
			}
		}
	}
	for _, header := range []string{"Bearer secret", "bearer secret"} {
		if code, _, _ := a.do("GET", "/v1/status", "", func(r *http.Request) { r.Header.Set("Authorization", header) }); code != 200 {
			t.Errorf("%q: %d", header, code)
		}
	}
	code, _, body := a.do("GET", "/healthz", "", func(r *http.Request) { r.Header.Del("Authorization") })
	if code != 200 || body != "ok\n" {
		t.Errorf("health without a token: %d %q", code, body)
	}
}

// A page in the operator's browser can send requests to a loopback address; it cannot choose its Origin, nor Host.
func TestBrowsersAreKeptOut(t *testing.T) {
	a := start(t, Options{})
	host := strings.TrimPrefix(a.url, "http://")
	_, port, _ := strings.Cut(host, ":")
	for _, c := range []struct {
		name, host, origin string
		want               int
	}{
		{"a tool", host, "", 200},
		{"localhost", "localhost:" + port, "", 200},
		{"a page of this API", host, a.url, 200},
		{"another page", host, "http://evil.example", 403},
		{"another port", host, "http://127.0.0.1:1", 403},
		{"a sandboxed page", host, "null", 403},
		{"a name that was rebound", "evil.example:" + port, "http://evil.example:" + port, 403},
		{"a rebound name without origin", "evil.example:" + port, "", 403},
	} {
		code, _, body := a.do("GET", "/v1/policies", "", func(r *http.Request) {
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
		})
		if code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, code, body, c.want)
		}
	}
}

func TestErrorsAreProblems(t *testing.T) {
	fail := false
	a := start(t, Options{Status: func(context.Context) (Status, error) {
		if fail {
			panic("boom")
		}
		return Status{}, errors.New("the disk's secret name")
	}})
	a.problem(404, "GET", "/", "", nil)
	a.problem(404, "GET", "/v1/Policies", "", nil)
	a.problem(404, "GET", "/v1/traces", "", nil) // no store, so no route
	a.problem(404, "POST", "/v1/policies/none/rollback", "", nil)
	a.problem(404, "DELETE", "/v1/policies/none", "", nil)
	a.problem(400, "PUT", "/v1/policies/x", "", nil)
	a.problem(400, "PUT", "/v1/policies/native", "x", nil)
	a.problem(400, "PUT", "/v1/policies/a%20b", "x", nil)
	a.problem(400, "PUT", "/v1/policies/.hidden", "x", nil)
	a.problem(400, "PUT", "/v1/policies/x?set=novalue", "x", nil)
	a.problem(400, "PUT", "/v1/policies/x?set=k=v&set=k=w", "x", nil)

	if p := a.problem(500, "GET", "/v1/status", "", nil); strings.Contains(p.Detail, "secret") {
		t.Errorf("an internal error is told to the client: %q", p.Detail)
	}
	fail = true
	a.problem(500, "GET", "/v1/status", "", nil)
	if log := a.log.String(); !strings.Contains(log, "secret name") || !strings.Contains(log, "boom") {
		t.Errorf("the log does not hold what happened:\n%s", log)
	}
	if code, _, _ := a.do("GET", "/healthz", "", nil); code != 200 {
		t.Errorf("health after a panic: %d", code)
	}
}

func TestStatusNamesPolicies(t *testing.T) {
	a := start(t, Options{})
	var st Status
	a.json("GET", "/v1/status", "", &st)
	if st.Version != "test" || st.State != "running" || st.Policies == nil {
		t.Errorf("%+v", st)
	}
}

func TestMetricsAndProfiles(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_test_total", Help: "x"})
	reg.MustRegister(c)
	c.Inc()
	a := start(t, Options{Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{})})
	code, header, body := a.do("GET", "/metrics", "", nil)
	if code != 200 || !strings.Contains(body, "sluice_test_total 1") || !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
		t.Errorf("metrics: %d %s %s", code, header.Get("Content-Type"), body)
	}
	if code, _, body := a.do("GET", "/debug/pprof/goroutine?debug=1", "", nil); code != 200 || !strings.Contains(body, "goroutine profile") {
		t.Errorf("profile: %d %.200s", code, body)
	}
}

// Only the beginning is sent: a client that writes on may see the connection reset before it reads the answer.
func TestBodyOverTheLimit(t *testing.T) {
	a := start(t, Options{})
	c, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "PUT /v1/policies/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s", BodyLimit+1, strings.Repeat("x", 8<<10))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != 413 || p.Code != CodeTooLarge || !strings.Contains(p.Detail, fmt.Sprint(BodyLimit)) || resp.Header.Get("Content-Type") != ProblemType {
		t.Errorf("%d %+v, %v", resp.StatusCode, p, err)
	}
}
