package server_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/server"
)

// To announce a large body costs the client a line, so it must cost the server no more than that.
func TestABodyThatIsOnlyAnnouncedTakesNoMemory(t *testing.T) {
	const clients, announced = 100, 4 << 20
	f := start(t, options{Server: func(c *server.Config) { c.ReadTimeout = 200 * time.Millisecond }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answers := make(chan error, clients)
	for range clients {
		c := f.connect(t, 0)
		fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", announced, strings.Repeat(" ", 9000))
		go func() {
			answer, err := io.ReadAll(c)
			if err == nil && !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
				err = fmt.Errorf("answer %q", answer)
			}
			answers <- err
		}()
	}
	for range clients {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / clients; each > announced/8 {
		t.Errorf("%d bytes were allocated for each body of 9,000 bytes", each)
	}
}

func TestBodiesInChunksAndTheirLimit(t *testing.T) {
	f := start(t, options{Server: func(c *server.Config) { c.BodyLimit = 1 << 20 }})
	for name, c := range map[string]struct {
		path   string
		body   io.Reader // its length is not known beforehand
		status int
	}{
		"small":                 {"/v1/completions", strings.NewReader(`{"prompt":"x","max_tokens":1}`), 200},
		"padded":                {"/v1/completions", io.MultiReader(strings.NewReader(strings.Repeat(" ", 900<<10)), strings.NewReader(`{"prompt":"x","max_tokens":1}`)), 200},
		"tokenize":              {"/tokenize", io.MultiReader(strings.NewReader(`{"prompt":"x"}`)), 200},
		"too large":             {"/v1/completions", &endless{8 << 20}, 413},
		"too large, tokenize":   {"/tokenize", &endless{8 << 20}, 413},
		"for an unknown route":  {"/v1/nothing", &endless{2 << 20}, 404},
		"of a method too few":   {"/v1/models", &endless{2 << 20}, 405},
		"small, a second time":  {"/v1/completions", strings.NewReader(`{"prompt":"x","max_tokens":1}`), 200},
		"nothing at all":        {"/v1/completions", io.MultiReader(), 400},
		"of an unknown coding":  {"/v1/completions", &endless{2 << 20}, 415},
		"which is not all JSON": {"/v1/completions", strings.NewReader(`{"prompt":`), 400},
	} {
		req, _ := http.NewRequest(http.MethodPost, f.URL+c.path, struct{ io.Reader }{c.body})
		if c.status == 415 {
			req.Header.Set("Content-Encoding", "br")
		}
		if resp, body := f.do(t, req); resp.StatusCode != c.status {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

// Who hangs up in the middle of a body leaves nothing behind, and the next request on the line is read from its start.
func TestABodyIsReadToItsEndAndNoFurther(t *testing.T) {
	f := start(t, options{})
	c := f.connect(t, 0)
	fmt.Fprint(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"prompt\"")
	c.Close()
	c = f.connect(t, 0)
	body := `{"prompt":"x","max_tokens":1` + strings.Repeat(" ", 20<<10) + `}`
	fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	fmt.Fprint(c, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	answers, err := io.ReadAll(c)
	if err != nil || strings.Count(string(answers), "HTTP/1.1 200 OK") != 3 || !strings.HasSuffix(string(answers), "ok\n") {
		t.Errorf("%v: %q", err, answers)
	}
}
