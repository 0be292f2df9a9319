//go:build wasmtime

package wasmtime_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/meter"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// both opens the two runtimes.
func both(t testing.TB) (pair [2]plugins.Runtime) {
	t.Helper()
	other, err := wazero.New(wazero.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	this := open(t, "")
	t.Cleanup(func() { this.Close() })
	return [2]plugins.Runtime{other, this}
}

// story is all that a host can see of a guest, as text.
type story struct{ strings.Builder }

func (s *story) Log(level int32, line []byte, truncated bool) {
	fmt.Fprintf(s, "log %d %q %v\n", level, line, truncated)
}
func (s *story) Metric(id uint32, value int64) { fmt.Fprintf(s, "metric %d %d\n", id, value) }
func (s *story) BadCall()                      { fmt.Fprintln(s, "bad call") }

// call tells of one call, and reports whether the guest may be called again.
func (s *story) call(i plugins.Instance, c *plugins.Call) bool {
	err := i.Call(c)
	fmt.Fprintf(s, "%s(%d) with %d units = %d, %d burnt, %d left", c.Entry, c.Arg, c.Fuel, c.Ret, c.Used, i.Fuel())
	s.memory(i)
	return s.trap(err)
}

func (s *story) memory(i plugins.Instance) {
	all, _ := i.Read(0, i.Size())
	fmt.Fprintf(s, ", memory %d %x\n", i.Size(), sha256.Sum256(all))
}

// trap tells of an error but for its stack, whose names are each runtime's own.
func (s *story) trap(err error) bool {
	var trap *plugins.Trap
	switch {
	case err == nil:
		return true
	case errors.As(err, &trap):
		fmt.Fprintf(s, "trap in %s: %s (out of fuel: %v, said %q)\n", trap.Func, trap.Cause, trap.OutOfFuel, trap.Said)
	default:
		fmt.Fprintf(s, "error %v\n", err)
	}
	return false
}

// compile compiles a metered module.
func compile(t testing.TB, rt plugins.Runtime, code []byte) plugins.Module {
	t.Helper()
	m, err := rt.Compile(context.Background(), code)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tell starts an instance and lets script call it.
func tell(m plugins.Module, script func(*story, plugins.Instance)) string {
	s := &story{}
	i, err := m.Instantiate(context.Background(), plugins.Env{Now: 1, Seed: 7, Sink: s})
	if !s.trap(err) {
		return s.String()
	}
	defer i.Close()
	fmt.Fprintf(s, "started, %d left", i.Fuel())
	s.memory(i)
	script(s, i)
	return s.String()
}

func metered(t testing.TB, wasm []byte) []byte {
	t.Helper()
	m, err := meter.Rewrite(wasm, meter.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return m.Code
}
