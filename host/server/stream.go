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
	b := &body{call: k, open: len(k.choices)}
	var early <-chan time.Time
	if d := k.s.settings.Load().EarlyHeaders; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		early = timer.C
	}
	switch ch, ev, ok, why := k.next(early); why {
	case wakeEvent:
		if !ok {
			<-ch.out.Done()
		}
		if err := k.failed(); err != nil && (!ok || len(k.choices) > 1) {
			return false, err
		}
		b.take(ch, ev, ok)
	case wakeGone:
		k.clientLeft()
		c.Context().SetConnectionClose()
		return false, clientGone()
	case wakeTimer:
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
	open    int    // choices that go on
	unsaid  bool   // a choice began whose first write was not noted yet
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
	if !b.unsaid || b.off < len(b.buf) {
		return
	}
	b.unsaid = false
	now := b.s.cfg.Engine.Now()
	for i := range b.choices {
		if c := &b.choices[i]; c.begun && !c.noted {
			c.noted = true
			c.out.Wrote(now)
		}
	}
	if !b.stamped {
		b.stamped = true
		b.s.cfg.Metrics.FirstWrite(time.Duration(now - b.req.Arrival))
	}
}

// wait appends what comes next: text, the end, or a sign of life.
func (b *body) wait() {
	alive := b.s.settings.Load().KeepAlive
	if b.quiet == nil {
		b.quiet = time.NewTimer(alive)
	} else {
		b.quiet.Reset(alive)
	}
	switch c, ev, ok, why := b.next(b.quiet.C); why {
	case wakeEvent:
		b.take(c, ev, ok)
	case wakeGone:
		b.clientLeft()
		b.end = io.ErrUnexpectedEOF
	case wakeTimer:
		// A blank line means nothing in an event stream. A comment would mean nothing either, but some readers lose the
		// event after it.
		b.buf = append(b.buf, '\n')
	}
}

func (b *body) take(c *choice, ev engine.Event, ok bool) {
	if ok {
		b.emit(c, ev)
	} else {
		b.finish(c, engine.Event{}, false)
	}
}

// emit appends ev and what else of its choice is there already. The last event waits for the reason of the end, which follows
// at once.
func (b *body) emit(c *choice, ev engine.Event) {
	for {
		c.tokens += ev.Tokens
		next, ok, there := c.peek(ev.Last || c.tokens >= b.limit)
		if there && !ok {
			b.finish(c, ev, true)
			return
		}
		b.chunk(c, &ev, "")
		if !there {
			return
		}
		ev = next
	}
}

// finish appends the last text of a choice, if there is any, and its end; that of the last choice is the stream's.
func (b *body) finish(c *choice, last engine.Event, pending bool) {
	<-c.out.Done()
	r := c.out.Result()
	if !complete(r) {
		if pending && last.Text != "" {
			b.chunk(c, &last, "")
		}
		b.breakOff(resultError(r))
		return
	}
	c.ended, c.tokens = true, r.OutputTokens
	b.chunk(c, &last, r.Finish)
	if b.open--; b.open > 0 {
		return
	}
	if b.usage {
		b.buf = append(b.buf, b.head...)
		b.buf = append(b.buf, ']')
		b.buf = appendUsage(b.buf, b.total())
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

func (b *body) chunk(c *choice, ev *engine.Event, finish string) {
	if b.head == nil {
		b.head = b.appendHead([]byte("data: "), b.form.chunk)
	}
	b.buf = append(b.buf, b.head...)
	b.buf = b.form.appendDelta(b.buf, c, ev, finish)
	if !c.begun {
		c.begun, b.unsaid = true, true
	}
	b.buf = append(b.buf, ']')
	switch {
	case b.running:
		b.buf = append(appendCounts(b.buf, len(b.req.Prompt), b.written()), '}')
	case b.usage:
		b.buf = append(b.buf, `,"usage":null`...)
	}
	b.buf = append(b.buf, "}\n\n"...)
}

// written is the number of tokens behind all chunks so far.
func (b *body) written() (n int) {
	for i := range b.choices {
		n += b.choices[i].tokens
	}
	return n
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
	if b.status == 0 { // the connection broke
		if !b.done() {
			b.clientLeft()
		}
		b.status = outcomeStatus(b.total())
	}
	b.close()
	return nil
}

var _ io.ReadCloser = (*body)(nil)
