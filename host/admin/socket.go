package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// SocketPath is the file of an address like unix:/run/sluice.sock.
func SocketPath(addr string) (path string, ok bool) {
	path, ok = strings.CutPrefix(addr, "unix:")
	return path, ok && path != ""
}

// listenSocket opens a unix socket that only this user can connect to. It is gone again once the listener is closed.
func listenSocket(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("open admin socket: %w", err)
	}
	// Linux gives the file the mode of the socket, so that there is no moment in which others can connect.
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), socketMode) })
	}}
	ln, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open admin socket: %w", err)
	}
	if err := os.Chmod(path, socketMode); err != nil { // where the system does not
		return nil, errors.Join(fmt.Errorf("open admin socket: %w", err), ln.Close())
	}
	return ln, nil
}

const socketMode = 0o600

// removeStale removes the socket of a server that is gone. What is something else, or is listened on, stays.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there already and is no socket", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		conn.Close()
		return fmt.Errorf("%s is in use by another process", path)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	return os.Remove(path)
}
