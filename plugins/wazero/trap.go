package wazero

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/plugins"
)

// errOutOfFuel ends a guest that cannot pay for a host function.
var errOutOfFuel = errors.New("out of fuel in a host function")

// exitError ends a guest that called proc_exit.
type exitError uint32

func (e exitError) Error() string { return fmt.Sprintf("it exited with code %d", uint32(e)) }

// lastWords is the first line that the guest wrote to standard error during the call, or what there is of it: the fuel may
// have run out before its end.
func (i *instance) lastWords() string {
	if err := &i.lines[1]; i.said == "" && i.talked {
		return string(printable(err.buf[:err.n], i.clean[:0]))
	}
	return i.said
}

const maxFrames = 8

// trap turns wazero's error into one line. The error's text holds the guest's stack, one function a line.
func (i *instance) trap(name string, err error) *plugins.Trap {
	cause, trace, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n")
	trace, _, _ = strings.Cut(trace, "\n\nGo runtime stack trace:")
	t := &plugins.Trap{Func: name, Said: i.lastWords()}
	t.Cause = strings.TrimPrefix(strings.TrimSuffix(cause, " (recovered by wazero)"), "wasm error: ")
	for line := range strings.Lines(trace) {
		frame := strings.TrimPrefix(strings.TrimSpace(line), ".")
		if frame != "" && len(t.Stack) < maxFrames {
			t.Stack = append(t.Stack, frame)
		}
	}
	var exit exitError
	switch {
	case errors.As(err, &exit):
		t.Cause = exit.Error()
	case i.fuel != nil && int64(i.fuel.Get()) < 0:
		t.OutOfFuel, t.Cause = true, "out of fuel"
	case name == "start" && strings.HasSuffix(t.Cause, "unreachable"):
		// wazero hands out no module whose start failed, so its counter cannot be read.
		t.Cause += ", or out of fuel"
	}
	return t
}
