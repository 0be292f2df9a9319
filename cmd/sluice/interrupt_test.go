package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running is a server on a simulated device, in a process of its own.
type running struct {
	cmd *exec.Cmd
	url string
	log *bufio.Scanner // of its standard error
}

func startSim(t *testing.T) *running {
	t.Helper()
	path, err := exec.LookPath("sluice")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve", "--device", "sim:cpu-smollm2", "--no-policies",
		"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: cmd, log: bufio.NewScanner(errs)}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the server ended before it served")
	}
	r.url, _ = strings.CutPrefix(lines.Text(), "serving ")
	return r
}

// stream starts a completion of so many tokens and returns once its first bytes are there.
func (r *running) stream(t *testing.T, tokens int) *bufio.Reader {
	t.Helper()
	body := fmt.Sprintf(`{"prompt":"go on","max_tokens":%d,"ignore_eos":true,"stream":true}`, tokens)
	resp, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	b := bufio.NewReader(resp.Body)
	if _, err := b.Peek(1); err != nil || resp.StatusCode != 200 {
		t.Fatalf("stream: %d, %v", resp.StatusCode, err)
	}
	return b
}

// says waits for a line on standard error.
func (r *running) says(t *testing.T, part string) {
	t.Helper()
	for r.log.Scan() {
		if strings.Contains(r.log.Text(), part) {
			return
		}
	}
	t.Fatalf("the server ended without saying %q", part)
}

// The first interrupt lets what runs finish, and its client gets all of it; what comes then is refused.
func TestFirstInterruptDrains(t *testing.T) {
	r := startSim(t)
	stream := r.stream(t, 150)
	r.cmd.Process.Signal(syscall.SIGINT)
	r.cmd.Process.Signal(syscall.SIGINT) // sent to a process and to its group, one Ctrl-C arrives twice
	r.says(t, "draining")
	for status := http.StatusOK; status != http.StatusServiceUnavailable; { // it says so a moment before it does
		resp, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"late","max_tokens":1}`))
		if err != nil {
			break
		}
		resp.Body.Close()
		if status = resp.StatusCode; status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("a request during the drain: %d", status)
		}
	}
	text, err := io.ReadAll(stream)
	if err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") || strings.Count(string(text), `"text":`) < 50 {
		t.Errorf("the stream that ran during the drain: %v, %d bytes", err, len(text))
	}
	for r.log.Scan() { // to its end: Wait must not close the pipe under what is still written
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit after a drain: %v", err)
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	r := startSim(t)
	r.stream(t, 8000)
	r.cmd.Process.Signal(syscall.SIGINT)
	r.says(t, "draining")
	time.Sleep(sameSignal + 50*time.Millisecond)
	r.cmd.Process.Signal(syscall.SIGINT)
	r.says(t, "ended at once")
	if err := r.cmd.Wait(); err == nil || codeOf(err) != "1" {
		t.Errorf("exit after two interrupts: %v", err)
	}
}
