package server

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/host/engine"
)

// errBrokenOff ends a body without its final chunk, and with it the connection.
var errBrokenOff = errors.New("stream broken off")

// sendStream waits for the first token, or for the end of patience, and then hands the connection to a body. Until then
// every end has a status of its own. It reports whether the body will close the call.
func (k *call) sendStream(c *fiber.Ctx) (handedOver bool, err error) {
	b := &body{call: k, first: true}
	var early <-chan time.Time
	if d := k.s.cfg.EarlyHeaders; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		early = timer.C
	}
	select {
	case ev, ok := <-k.out.Events():
		if !ok {
			<-k.out.Done()
			return false, resultError(k.out.Result())
		}
		b.emit(ev)
	case <-k.watch.gone:
		k.clientLeft()
		<-k.out.Done()
		c.Context().SetConnectionClose()
		return false, clientGone()
	case <-early:
		c.Response().ImmediateHeaderFlush = true
	}
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set("X-Accel-Buffering", "no")
	c.Status(http.StatusOK).Context().SetBodyStream(b, -1)
	return true, nil
}

// body is the events of one answer as an io.Reader. The HTTP server reads it on the connection's own goroutine, and
// sends what a Read returned before the next one: so an error ends the response where it stands, and a panic never is in a
// goroutine of its own.
type body struct {
	*call
	buf     []byte
	off     int
	head    []byte // what every chunk begins with
	tokens  int    // that the chunks so far stand for
	first   bool   // no token was written yet
	stamped bool   // the time of the first write was taken
	quiet   *time.Timer
	end     error // what Read returns once buf is empty; nil before the end
}

// Read blocks until there is something to send.
func (b *body) Read(p []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			b.breakOff(b.s.panicked(b.route, b.id, r))
			n, err = b.copyOut(p), nil
		}
	}()
	b.stampFirstWrite()
	for b.off == len(b.buf) {
		if b.end != nil {
			return 0, b.end
		}
		b.buf, b.off = b.buf[:0], 0
		b.wait()
	}
	return b.copyOut(p), nil
}

func (b *body) copyOut(p []byte) int {
	n := copy(p, b.buf[b.off:])
	b.off += n
	return n
}

// stampFirstWrite takes the time when the first token has left: the Read after the one that returned it.
func (b *body) stampFirstWrite() {
	if !b.first && !b.stamped && b.off == len(b.buf) {
		b.stamped = true
		b.s.cfg.Metrics.FirstWrite(time.Duration(b.s.cfg.Engine.Now() - b.req.Arrival))
	}
}

// wait appends what comes next: text, the end, or a sign of life.
func (b *body) wait() {
	select {
	case ev, ok := <-b.out.Events():
		b.take(ev, ok)
		return
	default:
	}
	if b.quiet == nil {
		b.quiet = time.NewTimer(b.s.cfg.KeepAlive)
	} else {
		b.quiet.Reset(b.s.cfg.KeepAlive)
	}
	select {
	case ev, ok := <-b.out.Events():
		b.take(ev, ok)
	case <-b.watch.gone:
		b.clientLeft()
		b.end = io.ErrUnexpectedEOF
	case <-b.quiet.C:
		// A blank line means nothing in an event stream. A comment would mean nothing either, but some readers lose the
		// event after it.
		b.buf = append(b.buf, '\n')
	}
}

func (b *body) take(ev engine.Event, ok bool) {
	if ok {
		b.emit(ev)
	} else {
		b.finish(engine.Event{}, false)
	}
}

// emit appends ev and what else is there already. The last event waits for the reason of the end, which follows at once.
func (b *body) emit(ev engine.Event) {
	for {
		b.tokens += ev.Tokens
		var next engine.Event
		var ok bool
		if b.tokens >= b.limit {
			next, ok = <-b.out.Events()
		} else {
			select {
			case next, ok = <-b.out.Events():
			default:
				b.chunk(ev.Text, "")
				return
			}
		}
		if !ok {
			b.finish(ev, true)
			return
		}
		b.chunk(ev.Text, "")
		ev = next
	}
}

// finish appends the last text, if there is any, and the end, all at once.
func (b *body) finish(last engine.Event, pending bool) {
	<-b.out.Done()
	r := b.out.Result()
	if !complete(r) {
		if pending && last.Text != "" {
			b.chunk(last.Text, "")
		}
		b.breakOff(resultError(r))
		return
	}
	b.tokens = r.OutputTokens
	b.chunk(last.Text, r.Finish)
	if b.usage {
		b.buf = append(b.buf, b.head...)
		b.buf = append(b.buf, ']')
		b.buf = appendUsage(b.buf, r.PromptTokens, r.OutputTokens)
		b.buf = append(b.buf, "}\n\n"...)
	}
	b.buf = append(b.buf, "data: [DONE]\n\n"...)
	b.status, b.end = http.StatusOK, io.EOF
}

// breakOff appends an error after which the connection is closed.
func (b *body) breakOff(e *apiError) {
	b.s.cfg.Metrics.BrokenOff()
	b.buf = e.event(b.buf)
	b.err, b.status, b.end = e, e.status, errBrokenOff
}

func (b *body) chunk(text, finish string) {
	if b.head == nil {
		b.head = b.appendHead([]byte("data: "), b.form.chunk)
	}
	b.buf = append(b.buf, b.head...)
	b.buf = b.form.appendDelta(b.buf, text, finish, b.first)
	b.first = false
	b.buf = append(b.buf, ']')
	switch {
	case b.running:
		b.buf = appendUsage(b.buf, len(b.req.Prompt), b.tokens)
	case b.usage:
		b.buf = append(b.buf, `,"usage":null`...)
	}
	b.buf = append(b.buf, "}\n\n"...)
}

// Close is called by the HTTP server when it is done with the response, however that went.
func (b *body) Close() error {
	defer func() {
		if r := recover(); r != nil {
			_ = b.s.panicked(b.route, b.id, r)
		}
	}()
	if b.quiet != nil {
		b.quiet.Stop()
	}
	if b.status == 0 {
		<-b.cancelled()
		b.status = outcomeStatus(b.out.Result())
	}
	b.close()
	return nil
}

// cancelled makes the engine end the request, if it has not.
func (b *body) cancelled() <-chan struct{} {
	select {
	case <-b.out.Done():
	default:
		b.clientLeft()
	}
	return b.out.Done()
}

var _ io.ReadCloser = (*body)(nil)
