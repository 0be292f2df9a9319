package registry

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// Options configure a Registry. The zero value keeps everything in memory and takes any module.
type Options struct {
	Dir string // of the store; "" = nothing outlives the process

	Keys             []ed25519.PublicKey // whose signatures count; without any, signatures are not looked at
	RequireSignature bool                // of every module that does not come from the configuration
	Pins             map[string][]string // by policy name, the only digests that are taken under it

	Log     *slog.Logger     // what is not the caller's to know; nil discards it
	Now     func() time.Time // nil = time.Now
	Poll    time.Duration    // how often Watch looks; 0 = 1 s
	OnAudit func(Entry)      // hears of every entry once it is durable, in order; it must return soon and not call the Registry
}

// Entry is one line of the history.
type Entry = store.Entry

// By is who asks for a change.
type By struct {
	Who, Why string // for people; at most MaxWho and MaxWhy bytes
	IfMatch  uint64 // the revision that the caller saw; 0 = any
}

// Limits of a By, in bytes.
const (
	MaxWho = 128
	MaxWhy = 1024
)

// Request is a module that is to be put somewhere.
type Request struct {
	Name      string
	Wasm      []byte
	Digest    string // sha256, 64 hex digits: stands for a module that the store has, or must be that of Wasm
	Config    map[string]string
	Signature []byte // what Sign returned; nil = none
	By
}

// Result is what a change made.
type Result struct {
	Revision  uint64
	Unchanged bool  // it was so already: no entry was written
	Entry     Entry // what was written to the history
	// Policy is the one that was meant, as Snapshot shows it. Its State is "" when it is not in the set any more.
	Policy plugins.PolicyInfo
}

// Snapshot is what is in force. Policies may be one change newer than Revision, never older.
type Snapshot struct {
	Revision uint64
	SafeMode bool // the native defaults decide at every hook
	Policies []plugins.PolicyInfo
}

// Started says what Start put into force.
type Started struct {
	Revision uint64
	Source   Source
	Why      string   // that source
	SafeMode bool     // the native defaults decide at every hook
	Warnings []string // what was damaged, refused or left out, one line each
}

// Source is where a set came from.
type Source string

// The sources.
const (
	FromConfiguration Source = "configuration"
	FromStore         Source = "store"
)

// Errors of a Registry's methods, for errors.Is. Beside them: those of the host (plugins.RefusedError, plugins.ErrUnknown,
// plugins.ErrNoShadow, plugins.ErrClosed) and store.ErrMissing, store.ErrDamaged and store.ErrFull.
var (
	ErrStale      = errors.New("the policies have changed since")                     // see StaleError; HTTP 412
	ErrRequest    = errors.New("malformed request")                                   // HTTP 400
	ErrSignature  = errors.New("signature refused")                                   // HTTP 403
	ErrPinned     = errors.New("the policy's name is pinned to other modules")        // HTTP 403
	ErrNotStarted = errors.New("the policy registry has not been started")            // HTTP 503
	ErrClosed     = errors.New("the policy registry is closed")                       // HTTP 503
	ErrUnrecorded = errors.New("in force, but not recorded: a restart may lose this") // HTTP 507; done, and not durable
	ErrUndone     = errors.New("undone, since it cannot be recorded")                 // HTTP 507; nothing has changed
)

// StaleError is an IfMatch that is not the revision in force. It is ErrStale.
type StaleError struct{ Want, Have uint64 }

// Error names both revisions.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: revision %d was asked for, %d is in force: look again, then repeat", ErrStale, e.Want, e.Have)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }
