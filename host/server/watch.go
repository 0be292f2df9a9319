package server

import (
	"net"
	"sync"
	"time"
)

// watcher notices that a client goes away while the server writes nothing to it.
type watcher struct {
	gone chan struct{} // closed when the peer closed its side, or the connection broke
	stop func()        // must be called before the connection is read again; may be called more than once
}

// watchClose watches c until stop. It parks in the runtime's poller: it reads no bytes and does not poll. A client that
// only shuts down its sending side counts as gone.
func watchClose(c net.Conn) *watcher {
	w := &watcher{gone: make(chan struct{})}
	done := make(chan struct{})
	// A deadline of an earlier read would wake the watcher up.
	if err := c.SetReadDeadline(time.Time{}); err != nil || !awaitHangup(c, w.gone, done) {
		w.stop = func() {}
		return w
	}
	w.stop = sync.OnceFunc(func() {
		_ = c.SetReadDeadline(longAgo) // wakes the watcher up
		<-done
		_ = c.SetReadDeadline(time.Time{})
	})
	return w
}
