package server

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitHangup starts a goroutine that closes gone when c's peer hangs up, and done when it returns. It reports false, and
// starts nothing, when c offers no way to watch it.
func awaitHangup(c net.Conn, gone, done chan struct{}) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	go func() {
		defer close(done)
		hung := false
		err := rc.Read(func(fd uintptr) bool {
			hung = hungUp(fd)
			return hung // false waits for the next edge
		})
		if hung || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			close(gone)
		}
	}()
	return true
}

func hungUp(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	for {
		n, err := unix.Poll(p, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	}
}
