package plugins

import (
	"context"
	"fmt"
	"strings"
)

// Runtime runs WebAssembly. All its methods may be called from any goroutine.
//
// # Lifecycle
//
//  1. Validate sees the module as its author built it.
//  2. Compile sees the module after meter has rewritten it.
//  3. Instantiate is called several times for one Module: for the self-test, for the instance in use, and for spares.
//  4. Every Instance is closed, then its Module, then the Runtime.
type Runtime interface {
	// Validate reports why the bytes are not a valid WebAssembly module. It runs nothing.
	Validate(ctx context.Context, wasm []byte) error
	// Compile turns a metered module into native code. An import that the runtime does not serve is an error.
	Compile(ctx context.Context, code []byte) (Module, error)
	// Import gives the type, as Signature writes it, of a function that policies may import.
	Import(module, name string) (signature string, ok bool)
	Close() error
}

// Module is compiled code. It may be used from any goroutine.
type Module interface {
	// Instantiate makes an instance and runs the module's start function and then its export _initialize. Both draw on
	// the fuel that the metered module starts with. A *Trap says that they failed.
	Instantiate(ctx context.Context, env Env) (Instance, error)
	Close() error
}

// Instance is one sandbox. One goroutine at a time may use it.
type Instance interface {
	// Call copies c.In into the guest, calls c.Entry, and shows the region c.Out: all in one crossing. After an error,
	// which is a *Trap, the instance may only be closed.
	Call(c *Call) error
	// Read views guest memory until the next Call; ok is false when the range is not inside it.
	Read(ptr, size uint32) (view []byte, ok bool)
	// Size is how much memory the guest has, in bytes.
	Size() uint32
	// Fuel is what the counter holds, in units: after the start, what that left of the fuel that it started with.
	Fuel() int64
	Close() error
}

// Env is what an instance can learn of the world while it starts, and whom it may talk to.
type Env struct {
	Now  int64 // ns; what clocks show until the first Call
	Seed uint64
	Sink Sink
}

// Sink takes what a guest says. It is called on the goroutine that calls the instance.
type Sink interface {
	// Log takes one line of at most MaxLogBytes; level is a slog level divided by 4 (-1 debug to 2 error). The line is
	// valid only during the call.
	Log(level int32, line []byte, truncated bool)
	// Metric takes a value that the policy publishes.
	Metric(id uint32, value int64)
	// BadCall counts a call whose pointer or length was outside guest memory; nothing was read or written.
	BadCall()
}

// Bounds on what a guest may hand to the host.
const (
	MaxLogBytes = 512
	Metrics     = 32 // ids 0..31

	// HostCallFuel is what a call into the host costs beside what meter charges, and HostByteFuel what each byte costs
	// that the host touches for it. A runtime must charge them, or a guest could make the host do unbounded work.
	HostCallFuel = 200
	HostByteFuel = 1
)

// Call is one call into a guest. Its owner reuses it, so that a call allocates nothing.
type Call struct {
	Entry Entry
	Arg   uint32     // of entries that take one
	In    [3]Segment // copied in, in this order; those without data are skipped
	Out   Region     // zeroed before the call
	Fuel  int64      // what the call may burn
	Now   int64      // ns; what the guest's clocks show
	Seed  uint64     // what the guest's random numbers follow from

	Ret  int64  // sign-extended when the function returns an i32
	View []byte // guest memory at Out; valid until the next Call
	Used int64  // fuel burnt, also when the call failed
}

// Segment is bytes on their way into the guest: in one piece, or when From is not 0 as elements of From bytes each, which
// are laid To bytes apart: shortened to To, or followed by bytes that keep what they were.
type Segment struct {
	Ptr      uint32
	Data     []byte
	From, To uint32
}

// CopyTo puts the segment into guest memory, which is known to have room for it.
func (s *Segment) CopyTo(memory []byte) {
	if s.From == 0 {
		copy(memory[s.Ptr:], s.Data)
		return
	}
	from, to := int(s.From), int(s.To)
	n, width := len(s.Data)/from, min(from, to)
	if n == 0 {
		return
	}
	memory = memory[s.Ptr : int(s.Ptr)+(n-1)*to+width]
	for i := range n {
		src, dst := s.Data[i*from:i*from+width], memory[i*to:i*to+width]
		if width == 64 { // the shortest row, in four registers: memmove's call costs more
			*(*[64]byte)(dst) = *(*[64]byte)(src)
			continue
		}
		copy(dst, src)
	}
}

// Region is a part of guest memory. It is inside the memory: the host has checked it.
type Region struct{ Ptr, Len uint32 }

// Trap says that a call did not return.
type Trap struct {
	Func      string   // the export that was called, or "start" or "_initialize"
	OutOfFuel bool     // its budget was used up
	Cause     string   // in the runtime's words
	Said      string   // the first line that the guest wrote to its standard error during the call, whole or not; or its panic, from its log
	Stack     []string // names of the guest's functions, innermost first
}

// panicPrefix is how the line begins with which a guest says that it is about to end.
const panicPrefix = "panic:"

// died reports whether the guest said that it is about to end, as Go's runtime does before it exits.
func (t *Trap) died() bool {
	return strings.HasPrefix(t.Said, panicPrefix) || strings.HasPrefix(t.Said, "fatal error:")
}

// Error is one line: the function, the cause, what the guest said, and its stack.
func (t *Trap) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", t.Func, t.Cause)
	if t.Said != "" {
		fmt.Fprintf(&b, " (it said %q)", t.Said)
	}
	if len(t.Stack) > 0 {
		fmt.Fprintf(&b, " in %s", strings.Join(t.Stack, " < "))
	}
	return b.String()
}
