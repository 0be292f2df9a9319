package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sendBuffer   = 64 << 10         // bytes that a client may fall behind in the kernel; the default is megabytes
	deadPeer     = 15 * time.Second // a peer that acknowledges nothing for so long is gone
	writeTimeout = 15 * time.Second // of one write: a peer that takes nothing for so long is gone
	lingerTime   = time.Second      // how long a refused body is still read, so that the refusal arrives
)

// Listen opens a listener whose connections notice dead peers and buffer little. Multipath TCP, which Go turns on by
// default, is off: with it, accepted sockets do not inherit TCP_USER_TIMEOUT.
func Listen(addr string) (net.Listener, error) {
	lc := net.ListenConfig{
		Control:         socketOptions,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("open listener: %w", err)
	}
	return ln, nil
}

// listener knows its open connections, so that a shutdown can end those that would not end by themselves.
type listener struct {
	net.Listener
	mu      sync.Mutex
	open    map[*conn]struct{}
	reading atomic.Bool // false = no further request is read
}

func newListener(ln net.Listener) *listener {
	l := &listener{Listener: ln, open: map[*conn]struct{}{}}
	l.reading.Store(true)
	return l
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c, nil
	}
	k := &conn{TCPConn: tcp, ln: l}
	l.mu.Lock()
	l.open[k] = struct{}{}
	l.mu.Unlock()
	return k, nil
}

// stopReading ends the requests that have not come whole. What is answered at present is answered.
func (l *listener) stopReading() {
	l.reading.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.TCPConn.SetReadDeadline(longAgo)
	}
}

func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.TCPConn.Close()
	}
}

// conn gives each write its own deadline. Embedding keeps SyscallConn, which the disconnect watcher needs.
type conn struct {
	*net.TCPConn
	ln     *listener
	armed  time.Time // when the write deadline was set last; only the writer touches it
	linger atomic.Bool
}

// Write fails when the peer takes nothing for writeTimeout. The deadline is renewed once a second at most.
func (c *conn) Write(p []byte) (int, error) {
	if now := time.Now(); now.Sub(c.armed) > time.Second {
		c.armed = now
		if err := c.TCPConn.SetWriteDeadline(now.Add(writeTimeout)); err != nil {
			return 0, err
		}
	}
	return c.TCPConn.Write(p)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// SetReadDeadline bounds the reads to come; once the listener reads no more they fail.
func (c *conn) SetReadDeadline(t time.Time) error {
	err := c.TCPConn.SetReadDeadline(t)
	if err == nil && !c.ln.reading.Load() { // after t was set: stopReading may have come before that
		err = c.TCPConn.SetReadDeadline(longAgo)
	}
	return err
}

// Close closes the connection. When a body was refused it first reads on for a moment: closing with unread data sends a
// reset, which overtakes the response.
func (c *conn) Close() error {
	c.ln.mu.Lock()
	delete(c.ln.open, c)
	c.ln.mu.Unlock()
	if c.linger.Load() && c.TCPConn.CloseWrite() == nil {
		_ = c.TCPConn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.Copy(io.Discard, struct{ io.Reader }{c.TCPConn})
	}
	return c.TCPConn.Close()
}
