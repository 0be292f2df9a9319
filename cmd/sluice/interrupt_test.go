package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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

func startSim(t *testing.T, env ...string) *running {
	t.Helper()
	path, err := exec.LookPath("sluice")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve", "--device", "sim:cpu-smollm2", "--no-policies",
		"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", t.TempDir())
	cmd.Env = append(os.Environ(), env...)
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

// A SIGHUP asks for a reload; a server that shuts down has none to do, and finishes what runs all the same.
func TestAHangupDuringADrainEndsNothing(t *testing.T) {
	r := startSim(t)
	stream := r.stream(t, 150)
	r.cmd.Process.Signal(syscall.SIGTERM)
	r.says(t, "draining")
	for range 10 { // it says so a moment before it does
		r.cmd.Process.Signal(syscall.SIGHUP)
		time.Sleep(10 * time.Millisecond)
	}
	text, err := io.ReadAll(stream)
	if err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("the stream that ran during the drain: %v, %d bytes", err, len(text))
	}
	for r.log.Scan() {
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit after a drain: %v", err)
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	r := startSim(t)
	r.stream(t, 8000)
	r.cmd.Process.Signal(syscall.SIGINT)
	r.says(t, "draining: what runs is finished, nothing new is taken;")
	time.Sleep(sameSignal + 50*time.Millisecond)
	r.cmd.Process.Signal(syscall.SIGINT)
	r.says(t, "ended at once")
	if err := r.cmd.Wait(); err == nil || codeOf(err) != "1" {
		t.Errorf("exit after two interrupts: %v", err)
	}
}

// What runs at the limit of the drain is told so, and the exit code is that of a server that did what it was asked to.
func TestADrainEndsAtItsLimitWithAnErrorEvent(t *testing.T) {
	r := startSim(t, "SLUICE_LIMITS_DRAIN_TIMEOUT=50ms")
	stream := r.stream(t, 8000)
	r.cmd.Process.Signal(syscall.SIGTERM)
	text, err := io.ReadAll(stream)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(string(text), "event: error\ndata: ") || !strings.Contains(string(text), `"code":"draining"`) {
		t.Errorf("the stream ended with %v: %.200q", err, text[max(0, len(text)-200):])
	}
	for r.log.Scan() {
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit at the limit of a drain: %v", err)
	}
}

// Readiness fails at the interrupt, and requests are taken until the grace is over.
func TestReadinessFailsBeforeTheDrain(t *testing.T) {
	r := startSim(t, "SLUICE_LIMITS_DRAIN_GRACE=3s")
	r.cmd.Process.Signal(syscall.SIGTERM)
	r.says(t, "nothing new is taken after 3s (limits.drain_grace);")
	for status := 0; status != http.StatusServiceUnavailable; time.Sleep(time.Millisecond) {
		resp, err := http.Get(r.url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		status = resp.StatusCode
	}
	resp, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"late","max_tokens":1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("within the grace: %d", resp.StatusCode)
	}
}
