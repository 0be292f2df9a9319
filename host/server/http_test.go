package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/server"
)

func TestRoutesThatToolsLookFor(t *testing.T) {
	f := start(t, options{})
	for _, path := range []string{"/health", "/healthz", "/livez", "/readyz", "/v1/models", "/metrics", "/v1/models/sim:cpu-smollm2"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req, _ := http.NewRequest(method, f.URL+path, nil)
			resp, body := f.do(t, req)
			if resp.StatusCode != 200 || (len(body) > 0) != (method == http.MethodGet) {
				t.Errorf("%s %s: %d, %d bytes", method, path, resp.StatusCode, len(body))
			}
		}
	}
	_, body := f.get(t, "/v1/models")
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			Created    int64
			MaxLen     int `json:"max_model_len"`
		}
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Object != "list" || len(list.Data) != 1 || list.Data[0].ID != "sim:cpu-smollm2" ||
		list.Data[0].Object != "model" || list.Data[0].MaxLen != simContext || list.Data[0].Created == 0 {
		t.Errorf("%v: %s", err, body)
	}
}

func TestWhatIsNotThereIsAnErrorObject(t *testing.T) {
	f := start(t, options{Server: func(c *server.Config) { c.BodyLimit = 64 << 10 }})
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{http.MethodGet, "/v1/nothing", 404, "unknown_route"},
		{http.MethodPost, "/v1/embeddings", 404, "unknown_route"},
		{http.MethodGet, "/v1/models/other", 404, "model_not_found"},
		{http.MethodGet, "/v1/chat/completions", 405, "method_not_allowed"},
		{http.MethodDelete, "/v1/models", 405, "method_not_allowed"},
	} {
		req, _ := http.NewRequest(c.method, f.URL+c.path, nil)
		resp, body := f.do(t, req)
		if e := readError(t, body); resp.StatusCode != c.status || e.Error.Code != c.code || resp.Header.Get("x-request-id") == "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.StatusCode, body)
		}
	}
	// A body over the limit gets its answer, though the client is still writing.
	resp, body := f.post(t, "/v1/completions", `{"prompt":"`+strings.Repeat("x", 1<<20)+`"}`)
	if e := readError(t, body); resp.StatusCode != 413 || e.Error.Code != "request_too_large" {
		t.Errorf("a large body: %d %s", resp.StatusCode, body)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprint(w, `{"prompt":"x"}`)
	w.Close()
	if resp, body := f.post(t, "/v1/completions", packed.String(), "Content-Encoding", "gzip"); resp.StatusCode != 415 {
		t.Errorf("a compressed body: %d %s", resp.StatusCode, body)
	}
}

// endless is a body of a gigabyte that is never held anywhere.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	e.left -= n
	return int(n), nil
}

func TestHostileBodiesDoNotDisturbOthers(t *testing.T) {
	f := start(t, options{Server: func(c *server.Config) { c.ReadTimeout = 100 * time.Millisecond }})
	// A gigabyte, announced and sent.
	req, _ := http.NewRequest(http.MethodPost, f.URL+"/v1/completions", &endless{1 << 30})
	req.ContentLength = 1 << 30
	if resp, err := f.client.Do(req); err == nil {
		if resp.StatusCode != 413 {
			t.Errorf("a gigabyte: %d", resp.StatusCode)
		}
		resp.Body.Close()
	}
	// Headers and bodies that never end.
	for _, text := range []string{"POST /v1/completions HT", "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"} {
		c := f.connect(t, 0)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(answer), "HTTP/1.1 408") {
			t.Errorf("%q: %v, %q", text, err, answer)
		}
	}
	// A header that is too large, and garbage.
	for text, status := range map[string]string{
		"GET /health HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("b", 64<<10) + "\r\n\r\n": "431",
		"\x16\x03\x01 garbage\r\n\r\n": "400",
	} {
		c := f.connect(t, 0)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(c)
		_, rest, _ := strings.Cut(string(answer), "\r\n\r\n")
		if !strings.HasPrefix(string(answer), "HTTP/1.1 "+status) {
			t.Errorf("%.30q: %q", text, answer)
		}
		readError(t, []byte(rest))
	}
	if resp, _ := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`); resp.StatusCode != 200 {
		t.Errorf("a good request afterwards: %d", resp.StatusCode)
	}
}

// What is no HTTP gets an error object that says why, and repeats nothing of a header that may hold a key.
func TestTheParsersErrorsRepeatNothing(t *testing.T) {
	f := start(t, options{})
	for head, says := range map[string]string{
		"GET /health HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n": "required host header",
		"secret\r\n\r\n": "http request method",
		"GET secret\x01 HTTP/1.1\r\nHost: x\r\nAuthorization: secret\r\n\r\n":                      "request uri",
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Key: secret\r\nContent-Length: -1\r\n\r\n":  "content-length",
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n": "hex number",
	} {
		c := f.connect(t, 0)
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(c)
		_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		e := readError(t, []byte(body)).Error
		if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(e.Message, says) || strings.Contains(string(answer), "secret") {
			t.Errorf("%q: %q", head, answer)
		}
	}
}

// The time that a request may take to arrive does not bound how long its answer may take.
func TestReadTimeoutDoesNotCutAnAnswer(t *testing.T) {
	o := slow(1)
	o.Server = func(c *server.Config) { c.ReadTimeout = 20 * time.Millisecond }
	f := start(t, o)
	_, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":60,"ignore_eos":true,"stream":true}`)
	if _, done := events(t, body); !done {
		t.Errorf("cut: %q", body)
	}
}

func TestAnOldClientGetsAWholeAnswerAndNoStream(t *testing.T) {
	f := start(t, options{})
	for stream, status := range map[bool]string{true: "HTTP/1.1 400", false: "HTTP/1.1 200"} {
		c := f.connect(t, 0)
		body := fmt.Sprintf(`{"prompt":"x","max_tokens":2,"stream":%v}`, stream)
		fmt.Fprintf(c, "POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		answer, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(answer), status) {
			t.Errorf("stream %v: %v %q", stream, err, answer)
		}
	}
}

func TestMetricsCountWhatHappened(t *testing.T) {
	f := start(t, options{})
	f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`)
	f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2,"stream":true}`)
	f.post(t, "/v1/completions", `{"prompt":""}`)
	f.get(t, "/nowhere")
	c, _ := f.dial(t, "/v1/completions", long("", true))
	c.Close()
	f.Await(t, "became idle", func(s engine.Snapshot) bool { return idle(s) && len(f.Records()) == 3 })
	resp, page := f.get(t, "/metrics")
	if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
		t.Errorf("content type %q", ct)
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	if _, err := p.TextToMetricFamilies(bytes.NewReader(page)); err != nil {
		t.Fatalf("the page is not valid: %v", err)
	}
	for _, want := range []string{
		`sluice_http_responses_total{route="/v1/completions",status="200"} `,
		`sluice_http_responses_total{route="/v1/completions",status="400"} 1`,
		`sluice_http_responses_total{route="other",status="404"} 1`,
		"sluice_first_write_seconds_count ",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

func TestReadinessFollowsTheHost(t *testing.T) {
	f := start(t, options{Server: func(c *server.Config) {
		c.Ready = func() error { return fmt.Errorf("the store is being repaired") }
	}})
	resp, body := f.get(t, "/readyz")
	if resp.StatusCode != 503 || !strings.Contains(string(body), "being repaired") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := f.get(t, "/health"); resp.StatusCode != 200 {
		t.Errorf("health: %d", resp.StatusCode)
	}
}
