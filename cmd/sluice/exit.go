package main

import (
	"errors"
	"fmt"
)

// The exit codes. A supervisor should start sluice again after exitFailed, and not after exitUsage: it would end the
// same way.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const exitHelp = `
Exit codes:
  0  done
  1  failed: the server cannot be reached, or the work went wrong
  2  wrong use or input: arguments, configuration, a file, a port in use, or a policy or change that is refused
`

// usageError is an error that the same command line and files will always give.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	var ue usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &ue):
		return exitUsage
	}
	return exitFailed
}
