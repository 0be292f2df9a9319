package store

import "errors"

// Errors of a Store, for errors.Is.
var (
	ErrLocked  = errors.New("in use by another process")
	ErrNewer   = errors.New("written by a newer version")
	ErrMissing = errors.New("no module of that digest")
	ErrDamaged = errors.New("damaged")
	ErrFull    = errors.New("the policy store is full")
	ErrClosed  = errors.New("the policy store is closed")
)
