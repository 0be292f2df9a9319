package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// socketOptions sets what accepted sockets inherit from the listener's.
func socketOptions(_, _ string, rc syscall.RawConn) error {
	var failed error
	err := rc.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
		if failed == nil {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
		}
	})
	if err != nil {
		return err
	}
	return failed
}
