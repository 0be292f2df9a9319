package admin

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is the user who opened the connection.
func peerUID(conn *net.UnixConn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	ctlErr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if ctlErr != nil {
		return 0, ctlErr
	}
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}
