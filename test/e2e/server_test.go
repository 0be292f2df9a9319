package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu/llama"
)

// server is a running `sluice serve`.
type server struct {
	url, admin, data string
	cmd              *exec.Cmd
	log              *syncBuffer
	exited           chan error
}

// syncBuffer collects what the server says on standard error.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// root is the repository's root: the tests run in test/e2e.
func root(parts ...string) string {
	return filepath.Join(append([]string{"..", ".."}, parts...)...)
}

func binary(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("SLUICE_BIN")
	if bin == "" {
		bin = root("bin", "sluice")
	}
	if _, err := os.Stat(bin); err != nil {
		missing(t, "no %s: run make build", bin)
	}
	abs, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func needModel(t *testing.T) {
	t.Helper()
	_, _, model, err := llama.DefaultPaths()
	if err != nil {
		missing(t, "no cache: %v", err)
	}
	if _, err := os.Stat(model); err != nil {
		missing(t, "no model: run make setup")
	}
}

// start serves the default model on free ports, with further arguments, and waits until both listeners are up.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	return startIn(t, t.TempDir(), args...)
}

func startIn(t *testing.T, data string, args ...string) *server {
	t.Helper()
	needModel(t)
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data}, args...)
	s := &server{cmd: exec.Command(binary(t), args...), log: &syncBuffer{}, data: data, exited: make(chan error, 1)}
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	lines := bufio.NewScanner(out)
	for s.url == "" || s.admin == "" {
		if !lines.Scan() {
			t.Fatalf("the server ended before it served:\n%s", s.log)
		}
		if url, ok := strings.CutPrefix(lines.Text(), "serving "); ok && s.url == "" {
			s.url = url
		} else if url, ok := strings.CutPrefix(lines.Text(), "admin "); ok && s.admin == "" {
			s.admin = url
		} else {
			t.Errorf("unexpected line on standard output: %q", lines.Text())
		}
	}
	go func() {
		for lines.Scan() {
		}
		s.exited <- s.cmd.Wait()
	}()
	return s
}

// stop ends the server if it still runs and shows its log when the test failed.
func (s *server) stop(t *testing.T) {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(20 * time.Second):
			s.cmd.Process.Kill()
			<-s.exited
		}
	}
	if t.Failed() {
		t.Logf("server log:\n%s", s.log)
	}
}

// run runs the command line and returns its output and exit code.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// cli runs a subcommand against the server's admin API and fails the test unless it exits with 0.
func (s *server) cli(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := run(t, append(args, "--admin", s.admin)...)
	if code != 0 {
		t.Fatalf("sluice %s: exit code %d\n%s", strings.Join(args, " "), code, errs)
	}
	return out
}

// post sends a JSON body and returns status, headers and body.
func (s *server) post(t *testing.T, path string, body any) (int, http.Header, []byte) {
	t.Helper()
	var r io.Reader
	if text, ok := body.(string); ok {
		r = strings.NewReader(text)
	} else {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	resp, err := http.Post(s.url+path, "application/json", r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

// complete returns the greedy continuation of a prompt.
func (s *server) complete(t *testing.T, prompt string, tokens int) string {
	t.Helper()
	code, _, body := s.post(t, "/v1/completions", map[string]any{"prompt": prompt, "max_tokens": tokens, "ignore_eos": true, "temperature": 0})
	var out struct {
		Choices []struct {
			Text string `json:"text"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &out); err != nil || code != 200 || len(out.Choices) != 1 {
		t.Fatalf("complete: %d %s", code, body)
	}
	return out.Choices[0].Text
}

// stream starts a streamed completion and hands each event's data to fn until the stream ends or fn says stop.
func (s *server) stream(ctx context.Context, prompt string, tokens int, fn func(data string) bool) error {
	body, err := json.Marshal(map[string]any{"prompt": prompt, "max_tokens": tokens, "ignore_eos": true, "stream": true,
		"stream_options": map[string]bool{"include_usage": true}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && !fn(data) {
			return nil
		}
	}
	return lines.Err()
}
