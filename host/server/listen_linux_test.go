package server_test

import (
	"net"
	"testing"

	"github.com/sluice-dev/sluice/host/server"
	"golang.org/x/sys/unix"
)

// What an accepted socket is set to decides when a dead peer is noticed and how far a slow one may fall behind.
func TestAcceptedSocketsInheritTheirOptions(t *testing.T) {
	ln, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	rc, err := a.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]struct{ level, opt, lo, hi int }{
		"protocol is plain TCP": {unix.SOL_SOCKET, unix.SO_PROTOCOL, unix.IPPROTO_TCP, unix.IPPROTO_TCP},
		"user timeout":          {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 10_000, 20_000},
		"keep-alive":            {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1, 1},
		"keep-alive idle":       {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15, 15},
		"send buffer":           {unix.SOL_SOCKET, unix.SO_SNDBUF, 64 << 10, 128 << 10},
	} {
		var v int
		ctl := rc.Control(func(fd uintptr) { v, err = unix.GetsockoptInt(int(fd), o.level, o.opt) })
		if ctl != nil || err != nil || v < o.lo || v > o.hi {
			t.Errorf("%s is %d (%v, %v), want %d to %d", name, v, ctl, err, o.lo, o.hi)
		}
	}
}
