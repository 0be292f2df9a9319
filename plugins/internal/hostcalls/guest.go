package hostcalls

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/sluice-dev/sluice/plugins"
)

// Guest is one instance as its host functions see it. One goroutine at a time uses it.
type Guest struct {
	Sink   plugins.Sink
	Memory []byte // all of the guest's, as it is when it calls
	Fuel   Fuel

	// What the guest sees of the world during the call in progress.
	now    int64
	random uint64
	said   string        // its first line on standard error
	talked bool          // it wrote to standard error
	lines  [2]lineBuffer // standard output and error
	clean  [plugins.MaxLogBytes + utf8.UTFMax]byte
}

// Fuel is the counter of a metered module: an i64 in the bits of v.
type Fuel interface {
	Get() uint64
	Set(v uint64)
}

// Begin sets what the guest sees during the next call: now in ns, and the seed of its random numbers.
func (g *Guest) Begin(now int64, seed uint64) {
	g.now, g.random = now, seed
	g.said, g.talked = "", false
}

// Said is the first line that the guest wrote to its standard error since Begin, or what there is of it: the fuel may have
// run out before its end.
func (g *Guest) Said() string {
	if err := &g.lines[1]; g.said == "" && g.talked {
		return string(printable(err.buf[:err.n], g.clean[:0]))
	}
	return g.said
}

// charge makes the guest pay for a call into the host, and chargeBytes for what the host touches for it.
func (g *Guest) charge() { g.pay(plugins.HostCallFuel) }

func (g *Guest) chargeBytes(n uint64) { g.pay(plugins.HostByteFuel * int64(n)) }

func (g *Guest) pay(units int64) {
	left := int64(g.Fuel.Get()) - units
	g.Fuel.Set(uint64(left))
	if left < 0 {
		panic(ErrOutOfFuel)
	}
}

// ErrOutOfFuel ends a guest that cannot pay for a host function.
var ErrOutOfFuel = errors.New("out of fuel in a host function")

// Exit ends a guest that called proc_exit, with its code.
type Exit uint32

// Error says that it was the guest's own wish.
func (e Exit) Error() string { return fmt.Sprintf("it exited with code %d", uint32(e)) }
