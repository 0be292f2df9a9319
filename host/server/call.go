package server

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/grammar"
)

// call is one request for text, from the parsed body to the last byte. It belongs to the connection's goroutine.
type call struct {
	s       *Server
	route   string
	form    form
	id      string
	created int64 // Unix seconds
	req     engine.Request
	limit   int // tokens of the answer, when no policy caps it

	stream, usage, running bool // the client's wishes: events, a usage chunk, usage in every chunk
	n                      int  // choices
	grammar                *grammar.Grammar

	choices []choice // empty before it is submitted
	cases   []reflect.SelectCase
	watch   *watcher
	goneAt  int64 // engine's clock; when the client was seen to be gone
	status  int   // of the answer, for the log
	err     error // what the client was told
	closed  bool
}

// parseFunc turns a body into a call.
type parseFunc func(k *call, c *fiber.Ctx, body []byte) error

// generate is both completion routes: it waits until the engine's answer decides the status.
func (s *Server) generate(c *fiber.Ctx, route string, f form, parse parseFunc) (err error) {
	k := &call{s: s, route: route, form: f, id: responseID(c), created: time.Now().Unix(), n: 1}
	k.req.ID, k.req.Arrival = k.id, s.cfg.Engine.Now()
	handedOver := false
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(route, k.id, p)
		}
		if !handedOver {
			k.err, k.status = err, statusOf(c, err)
			k.close()
		}
	}()
	if s.draining.Load() {
		lingerIfUnread(c)
		return s.drainingError()
	}
	body, err := s.requestBody(c)
	if err != nil {
		return err
	}
	k.req.Arrival = s.cfg.Engine.Now() // how long a client takes to send is no wait of its request
	if err := parse(k, c, body); err != nil {
		return err
	}
	if k.stream && !c.Request().Header.IsHTTP11() {
		return badRequest("stream", codeValue, "a stream needs HTTP/1.1")
	}
	if err := k.submit(len(body)); err != nil {
		return err
	}
	k.watch = watchClose(c.Context().Conn())
	if k.stream {
		handedOver, err = k.sendStream(c)
		return err
	}
	return k.sendWhole(c)
}

// submit hands the request to the engine, all choices at once. What it refuses at once is the client's mistake, or the end of
// the server.
func (k *call) submit(bodyBytes int) error {
	k.req.PromptBytes, k.req.Stream = bodyBytes, k.stream
	outs, err := k.s.cfg.Engine.SubmitAll(k.requests())
	if errors.Is(err, engine.ErrDraining) {
		return k.s.drainingError()
	}
	if err != nil {
		return paramError(err)
	}
	k.choices = make([]choice, len(outs))
	for i, out := range outs {
		k.choices[i] = choice{index: i, out: out}
	}
	return nil
}

// requests are the engine's: one for each choice, with an id, a seed and a share of the body of its own.
func (k *call) requests() []engine.Request {
	reqs := make([]engine.Request, k.n)
	for i := range reqs {
		reqs[i] = k.req
		if k.grammar != nil {
			reqs[i].Grammar = k.grammar.Matcher(k.s.vocabulary())
		}
		if i > 0 {
			reqs[i].ID += "." + strconv.Itoa(i)
			reqs[i].Sampling.Seed += uint64(i)
		}
	}
	return reqs
}

// setPrompt checks the prompt's length and decides how long the answer may be; def is for a client that does not say.
func (k *call) setPrompt(param string, prompt []gpu.Token, f *common, def int) error {
	size := k.s.cfg.MaxModelLen
	if len(prompt) == 0 {
		return badRequest(param, codeValue, "the prompt is empty")
	}
	if len(prompt) >= size {
		return badRequest(param, codeContext, "the prompt has %d tokens, but the model's context is %d, output included", len(prompt), size)
	}
	n, err := f.budget(len(prompt), size-len(prompt), def)
	if err != nil {
		return err
	}
	k.req.Prompt, k.req.MaxTokens, k.limit = prompt, n, n
	return nil
}

// seed is for a request that names none: different for each, and the same again for the same id.
func (k *call) seed() uint64 {
	var b [8]byte
	copy(b[:], k.id[max(0, len(k.id)-8):])
	return binary.LittleEndian.Uint64(b[:])
}

// clientLeft notes that the client is gone and makes the engine end the request.
func (k *call) clientLeft() {
	if k.goneAt == 0 {
		k.goneAt = k.s.cfg.Engine.Now()
	}
	k.cancelAll()
}

// close gives back whatever the call still holds and logs it. It is idempotent.
func (k *call) close() {
	if k.closed {
		return
	}
	k.closed = true
	if k.watch != nil {
		k.watch.stop()
	}
	if len(k.choices) > 0 {
		k.release()
	}
	k.log()
}

// release makes sure that the engine's part has ended.
func (k *call) release() {
	switch {
	case k.done():
	case k.err != nil: // one choice was refused, and the others go with it
		k.cancelAll()
	default:
		k.clientLeft() // a write failed, or a panic came between
	}
	if k.goneAt != 0 {
		k.s.cfg.Metrics.SlotReleased(time.Duration(k.s.cfg.Engine.Now() - k.goneAt))
	}
}

// log is the access log. Refusals and bad input are the normal course of things; only what failed here is an error.
func (k *call) log() {
	level, outcome := slog.LevelInfo, "refused"
	if k.status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs, slog.String("request_id", k.id), slog.String("route", k.route), slog.Int("status", k.status),
		slog.String("tenant", tenantName(k.req.Tenant)), slog.String("class", k.s.cfg.Classes[k.req.Class]),
		slog.Bool("stream", k.stream), slog.Duration("duration", time.Duration(k.s.cfg.Engine.Now()-k.req.Arrival)))
	if len(k.choices) > 0 {
		r := k.total()
		outcome = r.Outcome.String()
		attrs = append(attrs, slog.Int("prompt_tokens", r.PromptTokens), slog.Int("output_tokens", r.OutputTokens))
		if r.Err != nil {
			attrs = append(attrs, slog.Any("cause", r.Err))
		}
	}
	var e *apiError
	if errors.As(k.err, &e) {
		attrs = append(attrs, slog.String("code", e.code))
	}
	attrs = append(attrs, slog.String("outcome", outcome))
	k.s.log.LogAttrs(context.Background(), level, "request", attrs...)
}

func statusOf(c *fiber.Ctx, err error) int {
	var e *apiError
	switch {
	case errors.As(err, &e):
		return e.status
	case err != nil:
		return http.StatusInternalServerError
	}
	return c.Response().StatusCode()
}

// responseID is the request's id, which the guard has put on the response.
func responseID(c *fiber.Ctx) string {
	return strings.Clone(string(c.Response().Header.Peek(headerRequestID)))
}
