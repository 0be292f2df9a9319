package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// served is the server that a script started.
type served struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

const servedKey = "served"

// startServer ARGS...: starts `sluice serve` on free ports with its records in data, and sets SERVING and SLUICE_ADMIN to
// what it prints, and LISTEN to the address in SERVING. Its standard error goes to the file serve.err.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath("sluice")
	ts.Check(err)
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", "data"}, args...)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "SLUICE_ADMIN_TOKEN="+ts.Getenv("SLUICE_ADMIN_TOKEN"),
		"SLUICE_ADMIN_AUDIT="+ts.Getenv("SLUICE_ADMIN_AUDIT"))
	errs, err := os.Create(ts.MkAbs("serve.err"))
	ts.Check(err)
	defer errs.Close()
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s := &served{cmd, bufio.NewScanner(out)}
	ts.Defer(func() {
		if s.cmd.ProcessState == nil {
			s.cmd.Process.Kill()
			s.cmd.Wait()
		}
	})
	s.expect(ts, "serving ", "SERVING")
	ts.Setenv("LISTEN", strings.TrimPrefix(ts.Getenv("SERVING"), "http://"))
	s.expect(ts, "admin ", "SLUICE_ADMIN")
	ts.Value(servedKey).(map[string]*served)[ts.Name()] = s
}

// expect reads the next line and keeps what follows the prefix.
func (s *served) expect(ts *testscript.TestScript, prefix, variable string) {
	if !s.lines.Scan() {
		ts.Fatalf("the server ended before it served:\n%s", ts.ReadFile("serve.err"))
	}
	url, ok := strings.CutPrefix(s.lines.Text(), prefix)
	if !ok {
		ts.Fatalf("the server printed %q where a line with %q belongs", s.lines.Text(), prefix)
	}
	ts.Setenv(variable, url)
}

// hangup: sends the server SIGHUP.
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Value(servedKey).(map[string]*served)[ts.Name()].cmd.Process.Signal(syscall.SIGHUP))
}

// interrupt CODE: interrupts the server and waits for it to exit with that code, having printed nothing more.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(servedKey).(map[string]*served)[ts.Name()]
	ts.Check(s.cmd.Process.Signal(syscall.SIGINT))
	for s.lines.Scan() {
		ts.Fatalf("the server printed a third line on standard output: %q", s.lines.Text())
	}
	code := "0"
	if err := s.cmd.Wait(); err != nil {
		code = codeOf(err)
	}
	if code != args[0] {
		ts.Fatalf("the server exited with %s:\n%s", code, ts.ReadFile("serve.err"))
	}
}

func TestCurlLineIsOneShellCommand(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	line := curl("http://127.0.0.1:1", `it's "odd" $(x) \ name`)
	out, err := exec.Command(sh, "-c", "printf '%s\\n' "+strings.TrimPrefix(line, "curl ")).Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	want := `{"messages":[{"content":"Why is the sky blue?","role":"user"}],"model":"it's \"odd\" $(x) \\ name","stream":true}`
	if len(args) != 6 || args[5] != want {
		t.Errorf("the shell sees %q", args)
	}
}
