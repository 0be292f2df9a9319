package admin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-dev/sluice/plugins/registry"
)

// A wrong method is told which ones there are.
func TestWrongMethod(t *testing.T) {
	a := start(t, Options{})
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/v1/policies", "GET, HEAD"},
		{"PATCH", "/v1/policies/x", "GET, HEAD, PUT, DELETE"},
		{"GET", "/v1/policies/x/rollback", "POST"},
		{"OPTIONS", "/v1/status", "GET, HEAD"},
		{"DELETE", "/healthz", "GET, HEAD"},
	} {
		code, header, body := a.do(c.method, c.path, "", nil)
		var p Problem
		allow := strings.Join(header.Values("Allow"), ", ")
		if json.Unmarshal([]byte(body), &p) != nil || code != 405 || p.Code != CodeMethodNotAllowed || !sameMethods(allow, c.allow) {
			t.Errorf("%s %s: %d Allow %q %s, want Allow %q", c.method, c.path, code, allow, body, c.allow)
		}
	}
	if code, _, body := a.do("BREW", "/v1/status", "", nil); code != 501 || !strings.Contains(body, string(CodeUnknownMethod)) {
		t.Errorf("a method that nobody knows: %d %s", code, body)
	}
}

func sameMethods(got, want string) bool {
	g, w := map[string]bool{}, map[string]bool{}
	for _, m := range strings.Split(got, ", ") {
		g[m] = true
	}
	for _, m := range strings.Split(want, ", ") {
		w[m] = true
	}
	return fmt.Sprint(g) == fmt.Sprint(w)
}

func TestWrongMediaType(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	for _, c := range []struct {
		kind, encoding string
		want           int
	}{
		{"application/wasm", "", 200}, {"application/octet-stream", "", 200}, {"application/wasm; x=y", "identity", 200},
		{"application/x-www-form-urlencoded", "", 415}, {"application/json", "", 415}, {"multipart/form-data; boundary=x", "", 415},
		{"not a type", "", 415}, {"application/wasm", "gzip", 415},
	} {
		edit := func(r *http.Request) {
			r.Header.Set("Content-Type", c.kind)
			r.Header.Set("Content-Encoding", c.encoding)
		}
		if c.want == 415 {
			if p := a.problem(415, "PUT", "/v1/policies/p", wasm, edit); !strings.Contains(p.Detail, "Content-") {
				t.Errorf("%+v: %q", c, p.Detail)
			}
		} else if code, _, body := a.do("PUT", "/v1/policies/p", wasm, edit); code != c.want {
			t.Errorf("%+v: %d %s", c, code, body)
		}
	}
}

// raw sends bytes as they are and returns the answer.
func (a *api) raw(text string) *http.Response {
	a.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		a.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		a.t.Fatalf("%.80q: %v", text, err)
	}
	return resp
}

// Paths that mean one thing to a router and another to what is behind it lead nowhere, and change nothing.
func TestPathTricks(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var p Policy
	a.json("PUT", "/v1/policies/p", wasm, &p)
	for _, path := range []string{
		"/v1/policies/..", "/v1/policies/../status", "/v1/policies/%2e%2e", "/v1/policies/%2e%2e%2fp", "/v1/policies/%2E%2E/p",
		"/v1/policies/p%00", "/v1/policies/%00", "/v1/policies/p%2frollback", "/v1/policies/%zz", "/v1/policies/p%", "/v1//policies/p",
		"/v1/policies/./p", "/v1/policies/p;x", "/v1/policies/p%20", "/v1/policies/p%0a", "/v1/policies/%C3%A9", "//v1/policies/p",
		"/v1/policies/" + strings.Repeat("a", 65), "/v1/policies/" + strings.Repeat("a", 10_000), "/v1/policies/" + strings.Repeat("%2e%2e%2f", 1000) + "p",
	} {
		resp := a.raw("DELETE " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
		if resp.StatusCode != 400 && resp.StatusCode != 404 && resp.StatusCode != 405 || resp.Header.Get("Content-Type") != ProblemType {
			t.Errorf("%.60s: %d %s", path, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
	}
	for text, want := range map[string]int{
		"DELETE /v1/policies/p\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":                                          400,
		"DELETE /v1/policies/" + strings.Repeat("a", 20_000) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":            431,
		"DELETE /v1/policies/p HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("a", maxHeader) + "\r\n\r\n": 431,
		"PUT /v1/policies/p HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n":     400,
		"PUT /v1/policies/p HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n":                           400,
		"PUT /v1/policies/p HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx":     400,
		"PUT /v1/policies/native HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx":                      400,
		"DELETE /v1/policies/p HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n":                        400,
	} {
		resp := a.raw(text)
		if resp.StatusCode != want || resp.Header.Get("Content-Type") != ProblemType {
			t.Errorf("%.80q: %d %s, want a problem %d", text, resp.StatusCode, resp.Header.Get("Content-Type"), want)
		}
	}
	var list PolicyList
	a.json("GET", "/v1/policies", "", &list)
	if len(list.Policies) != 1 || list.Policies[0].Name != "p" {
		t.Errorf("left %+v", list)
	}
}

// endlessBody is sent for as long as the server reads, perhaps for a moment after it has answered.
type endlessBody struct{ sent atomic.Int64 }

func (b *endlessBody) Read(p []byte) (int, error) {
	b.sent.Add(int64(len(p)))
	return len(p), nil
}

// A body without a length is read to the limit, and not at all from who may not send one.
func TestEndlessBodies(t *testing.T) {
	a := start(t, Options{Token: "secret"})
	for token, want := range map[string]int{"secret": 413, "wrong": 401} {
		body := &endlessBody{}
		req, _ := http.NewRequest("PUT", a.url+"/v1/policies/p", body)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err == nil { // else the connection was cut under the writing client, and the log alone tells the status
			resp.Body.Close()
		}
		if log := a.log.String(); !strings.Contains(log, fmt.Sprint("status=", want)) {
			t.Errorf("%s: no %d in the log:\n%s", token, want, log)
		}
		if body.sent.Load() > 2*BodyLimit+16<<20 {
			t.Errorf("%s: the server read %d bytes", token, body.sent.Load())
		}
	}
}

// A client that sends a whole policy before it listens gets to read why it was refused.
func TestARefusedUploadIsAnswered(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{Token: "secret"})
	a.token = "wrong"
	a.problem(401, "PUT", "/v1/policies/p", wasm, nil)
	a.token = "secret"
	a.problem(415, "PUT", "/v1/policies/p", wasm, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
	a.problem(400, "PUT", "/v1/policies/native", wasm, nil)
	a.problem(405, "POST", "/v1/policies/p", wasm, nil)
}

// An upload that breaks off changes nothing; of a client that goes once all is sent, the change is made in full or not at all.
func TestAnUploadThatBreaksOffChangesNothing(t *testing.T) {
	wasm := module(t)
	a := start(t, Options{})
	var list PolicyList
	a.json("GET", "/v1/policies", "", &list)
	before := list.Revision
	upload := func(name string, sent int) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "PUT /v1/policies/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/wasm\r\nContent-Length: %d\r\n\r\n", name, len(wasm))
		io.WriteString(conn, wasm[:sent])
		conn.Close()
	}
	for _, sent := range []int{0, 100, len(wasm) / 2, len(wasm) - 1} {
		upload("half", sent)
	}
	upload("whole", len(wasm))
	var p Policy
	a.json("PUT", "/v1/policies/last", wasm, &p) // it comes after all of them, or does not wait for those that are gone
	a.json("GET", "/v1/policies", "", &list)
	for _, p := range list.Policies {
		if p.Name == "half" || p.State != "active" || len(p.Digest) != 64 {
			t.Errorf("in force: %+v", p)
		}
	}
	if n := uint64(len(list.Policies)); n == 0 || list.Revision != before+n {
		t.Errorf("revision %d after %d for %d policies", list.Revision, before, n)
	}
}

// A push that a full or broken disk does not take is undone and says so; nothing of it is an internal error.
func TestAPushThatTheDiskDoesNotTakeSaysSo(t *testing.T) {
	dir := t.TempDir()
	a := startOn(t, "127.0.0.1:0", registry.Options{Dir: dir}, Options{})
	for _, folder := range []string{"modules", "manifests"} {
		path := filepath.Join(dir, folder)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if p := a.problem(507, "PUT", "/v1/policies/p", module(t), nil); p.Code != CodeUndone || !strings.Contains(p.Detail, folder) {
			t.Errorf("without %s: %+v", folder, p)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	var p Policy
	a.json("PUT", "/v1/policies/p", module(t), &p)
}
