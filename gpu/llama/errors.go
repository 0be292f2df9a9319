package llama

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrUsage is wrapped by errors whose cause lies in what was asked for: a file that is missing or no model, a folder
// without libraries, a device that is not offered, sizes that cannot work. A command line exits with code 2 on it.
var ErrUsage = errors.New("wrong use or input")

// errClosed is the answer of a device after Close.
var errClosed = errors.New("the device is closed")

type usageError struct{ err error }

func (e *usageError) Error() string        { return e.err.Error() }
func (e *usageError) Unwrap() error        { return e.err }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// usagef is fmt.Errorf for an error that is ErrUsage; the text stands alone.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// headerError says why the header of the model at path could not be read, with the path once.
func headerError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return usagef("open model %s: %w", path, err)
}
