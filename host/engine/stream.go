package engine

import (
	"errors"
	"sync/atomic"
)

// Errors in Result.Err and from Submit.
var (
	ErrSlowConsumer = errors.New("the client reads more slowly than tokens are produced")
	ErrDraining     = errors.New("the server is shutting down")
)

// Stream is one request on its way through the engine. All methods may be called from any goroutine.
type Stream struct {
	events chan Event
	done   chan struct{}
	result Result
	cancel func()

	written atomic.Int64
}

// Events delivers text as it is emitted and is closed at the end. The channel is bounded: a reader that falls behind by
// more than its capacity is cancelled with ErrSlowConsumer.
func (s *Stream) Events() <-chan Event { return s.events }

// Done is closed when the request has ended and everything it held is free.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Result says how the request ended. It may be called once Done is closed.
func (s *Stream) Result() Result { return s.result }

// Cancel says that the client went away. It may be called in any state, more than once.
func (s *Stream) Cancel() { s.cancel() }

// Wrote says that the first text was given to the client's connection, at a reading of Engine.Now. The record has it when the
// request has not ended yet: a whole answer, and a stream that ends with its first event, are written after their record.
func (s *Stream) Wrote(at int64) { s.written.Store(at) }
