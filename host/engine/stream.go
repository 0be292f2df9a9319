package engine

import "errors"

// Errors in Result.Err and from Submit.
var (
	ErrSlowConsumer = errors.New("the client reads more slowly than tokens are produced")
	ErrDraining     = errors.New("the server is shutting down")
	ErrDeadline     = errors.New("the request's deadline passed before its answer was complete")
)

// Stream is one request on its way through the engine. All methods may be called from any goroutine.
type Stream struct {
	events chan Event
	done   chan struct{}
	result Result
	cancel func()
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
