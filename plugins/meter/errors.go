package meter

import (
	"errors"
	"fmt"
	"strings"
)

// What an Error is about, for errors.Is.
var (
	// ErrMalformed: the bytes are no valid module.
	ErrMalformed = errors.New("malformed module")
	// ErrUnsupported: the module uses a feature that can not be metered, or is not offered to guests. The detail names it.
	ErrUnsupported = errors.New("unsupported module")
	// ErrLimit: the module asks for more than Limits allow.
	ErrLimit = errors.New("module over a limit")
)

// Error says why, and where, a module was refused.
type Error struct {
	Kind     error  // ErrMalformed, ErrUnsupported or ErrLimit
	Offset   int    // in bytes from the module's first
	Function int    // index in the module's function index space, imports first; -1 outside of function bodies
	Detail   string // what is wrong
}

// Error gives the place and what is wrong there.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: ", e.Kind)
	if e.Function >= 0 {
		fmt.Fprintf(&b, "function %d, ", e.Function)
	}
	fmt.Fprintf(&b, "offset 0x%x: %s", e.Offset, e.Detail)
	return b.String()
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }
