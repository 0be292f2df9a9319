package trace

import (
	"errors"
	"fmt"
)

// What can be wrong with a line. They stand inside a LineError.
var (
	ErrNewer     = errors.New("written by a newer version of Sluice")
	ErrForeign   = errors.New("not a trace that Sluice knows")
	ErrTruncated = errors.New("the file was cut off in the middle of this line")
	ErrTooLong   = errors.New("line too long")
	ErrNUL       = errors.New("NUL byte (a file that a crash left half-written looks like this)")
	ErrInvalid   = errors.New("impossible record")
	ErrEmpty     = errors.New("no records")
)

// LineError says where in a trace something is wrong. Line counts from 1; Offset is the byte, counted from 0 in the
// decompressed text, where the fault was noticed.
type LineError struct {
	Name   string // of the file; "" when unknown
	Line   int
	Offset int64
	Err    error
}

func (e *LineError) Error() string {
	at := fmt.Sprintf("line %d, byte %d: %v", e.Line, e.Offset, e.Err)
	if e.Name == "" {
		return at
	}
	return e.Name + ": " + at
}

func (e *LineError) Unwrap() error { return e.Err }
