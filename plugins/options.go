package plugins

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
)

// Options configure a Host. The zero value is usable.
type Options struct {
	Log *slog.Logger // what policies say and what becomes of them; nil discards it

	MaxBytes int               // of one module; 0 = 16 MiB
	Budget   Budget            // what one policy may use; zero fields are the default for its kind of module
	Budgets  map[string]Budget // by policy name, over Budget

	FaultLimit  int   // so many faults ...
	FaultWindow int64 // ... within so many ns of the host's clock quarantine a policy; 0 = 5 within 10 s
	Backoff     Backoff

	SafeMode bool // start with the native defaults, as Host.SafeMode does

	// OnEvent hears of what becomes of policies. It runs on a goroutine of the host's own and must not call the host's
	// changing methods. It is not told of events that come faster than it returns.
	OnEvent func(Event)
	// OnStaged is called when a change waits for the loop's next Swap, so that a loop that waits for work can call it.
	OnStaged func()
	// Inline does everything on the goroutines that call the host, and an instance is replaced before the call that broke
	// it returns. A replay needs that: with a goroutine beside it, what the next call meets would depend on the machine.
	// The host's changing methods may then only be called by the goroutine that calls Swap.
	Inline bool
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 16 << 20
	}
	if o.FaultLimit <= 0 {
		o.FaultLimit = 5
	}
	if o.FaultWindow <= 0 {
		o.FaultWindow = 10_000_000_000
	}
	if o.Backoff.First == 0 {
		o.Backoff.First = 1_000_000_000
	}
	if o.Backoff.Max <= 0 {
		o.Backoff.Max = 300_000_000_000
	}
	return o
}

// Backoff is how long, in ns of the host's clock, a quarantined policy rests until it is tried again, where no version
// before it took its place: First, and after each trial that failed twice as long as before, up to Max. 0 = 1 s and 300 s;
// a negative First = it is never tried again.
type Backoff struct{ First, Max int64 }

// after is the rest that follows one of the given length; 0 when there was none before.
func (b Backoff) after(rest int64) int64 {
	if rest == 0 {
		return min(b.First, b.Max)
	}
	return min(2*rest, b.Max)
}

// Policy is what SetAll loads: a module under a name that is unique in the set.
type Policy struct {
	Name   string
	Wasm   []byte
	Config map[string]string
}

// Errors of a Host's methods, beside RefusedError.
var (
	ErrUnknown  = errors.New("no policy of that name")
	ErrNoShadow = errors.New("no shadow of that name")
	ErrClosed   = errors.New("the policy host is closed")
)

var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// ValidName reports whether a policy's name can stand in a metric, a path and a command line.
func ValidName(name string) bool { return nameRE.MatchString(name) && name != nativeName }

// checkName is ValidName for people.
func checkName(name string) error {
	if !ValidName(name) {
		return fmt.Errorf("policy name %q: use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first, and not %q", name, nativeName)
	}
	return nil
}
