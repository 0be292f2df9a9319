package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopGrace is how long a server may take to end after SIGTERM before it is killed.
const stopGrace = 15 * time.Second

// process is a server that was started here. Its children are in its group and end with it.
type process struct {
	cmd    *exec.Cmd
	log    string // file of its output
	exited chan struct{}
}

// spawn starts a command with its output in dir/name.log. stdout gets standard output instead, when it is not nil.
func spawn(dir, name string, env []string, stdout io.Writer, argv ...string) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), log: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", name, err)
	}
	defer out.Close()
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if stdout != nil {
		p.cmd.Stdout = stdout
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // why it ended stands in its log
		close(p.exited)
	}()
	return p, nil
}

// stop ends the process and waits until it is gone.
func (p *process) stop() {
	_ = syscall.Kill(p.cmd.Process.Pid, syscall.SIGTERM) // an error means that it is gone
	select {
	case <-p.exited:
	case <-time.After(stopGrace):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // what is left of its group
	<-p.exited
}

// awaitHealth asks until the server says that it is well, it ends, or the time is over.
func (p *process) awaitHealth(ctx context.Context, url string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
		if err != nil {
			return fmt.Errorf("make request: %w", err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it ended before it served; its log is %s", p.log)
		case <-ctx.Done():
			return fmt.Errorf("it does not serve after %v; its log is %s", patience, p.log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// freeAddr is a loopback address that nobody listens on at present.
func freeAddr() (host, port string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", fmt.Errorf("find a free port: %w", err)
	}
	host, port, err = net.SplitHostPort(ln.Addr().String())
	return host, port, errors.Join(err, ln.Close())
}
