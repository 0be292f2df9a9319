package main

import (
	"errors"
	"slices"
)

// stack closes what was opened, the last first.
type stack []func() error

func (s *stack) push(f func() error) { *s = append(*s, f) }

// close runs every function, also after one has failed.
func (s *stack) close() error {
	var errs []error
	for _, f := range slices.Backward(*s) {
		errs = append(errs, f())
	}
	*s = nil
	return errors.Join(errs...)
}
