package wazero

import (
	"errors"
	"strings"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/hostcalls"
)

const maxFrames = 8

// trap turns wazero's error into one line. The error's text holds the guest's stack, one function a line.
func (i *instance) trap(name string, err error) *plugins.Trap {
	cause, trace, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n")
	trace, _, _ = strings.Cut(trace, "\n\nGo runtime stack trace:")
	t := &plugins.Trap{Func: name, Said: i.guest.Said()}
	if _, why, ok := strings.Cut(cause, " failed: "); ok && name == "start" { // "start function[1] failed: "
		cause = why
	}
	t.Cause = strings.TrimPrefix(strings.TrimSuffix(cause, " (recovered by wazero)"), "wasm error: ")
	for line := range strings.Lines(trace) {
		frame := strings.TrimPrefix(strings.TrimSpace(line), ".")
		if frame != "" && len(t.Stack) < maxFrames {
			t.Stack = append(t.Stack, frame)
		}
	}
	var exit hostcalls.Exit
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
