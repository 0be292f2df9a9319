//go:build wasmtime

package wasmtime

// #include "guest.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/hostcalls"
)

const maxFrames = 8

// causes are the traps that a guest of the meter's features can meet, by wasmtime's codes, in the words of the other
// runtime.
var causes = map[C.wasmtime_trap_code_t]string{
	C.WASMTIME_TRAP_CODE_STACK_OVERFLOW:            "stack overflow",
	C.WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS:      "out of bounds memory access",
	C.WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS:       "invalid table access",
	C.WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL:     "invalid table access",
	C.WASMTIME_TRAP_CODE_BAD_SIGNATURE:             "indirect call type mismatch",
	C.WASMTIME_TRAP_CODE_INTEGER_OVERFLOW:          "integer overflow",
	C.WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO:  "integer divide by zero",
	C.WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER: "invalid conversion to integer",
	C.WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED:  unreachable,
}

const unreachable = "unreachable"

// outcome says how the call of the named function ended: nil, or why it did not return.
func (i *instance) outcome(name string) error {
	g := i.g
	if g.error != nil {
		err := failure(g.error)
		g.error = nil
		return &plugins.Trap{Func: name, Said: i.host.Said(), Cause: err.Error()}
	}
	if g.trap == nil {
		return nil
	}
	defer func() {
		C.wasm_trap_delete(g.trap)
		g.trap = nil
	}()
	t := &plugins.Trap{Func: name, Said: i.host.Said(), Cause: i.cause(), Stack: stackOf(g.trap)}
	exit, exited := i.thrown.(hostcalls.Exit)
	switch {
	case exited:
		t.Cause = exit.Error()
	case bool(g.bound) && g.fuel < 0:
		t.OutOfFuel, t.Cause = true, "out of fuel"
	case name == "start" && t.Cause == unreachable:
		// There is no instance whose start failed, so its counter cannot be read.
		t.Cause += ", or out of fuel"
	}
	return t
}

func (i *instance) cause() string {
	if i.thrown != nil {
		return fmt.Sprint(i.thrown)
	}
	var code C.wasmtime_trap_code_t
	if C.wasmtime_trap_code(i.g.trap, &code) {
		if c, ok := causes[code]; ok {
			return c
		}
	}
	var message C.wasm_byte_vec_t
	C.wasm_trap_message(i.g.trap, &message)
	first, _, _ := strings.Cut(strings.TrimRight(taken(&message), "\x00"), "\n")
	return first
}

// stackOf names the guest's functions, innermost first; one without a name is $ and its index.
func stackOf(t *C.wasm_trap_t) (names []string) {
	var frames C.wasm_frame_vec_t
	C.wasm_trap_trace(t, &frames)
	defer C.wasm_frame_vec_delete(&frames)
	for _, f := range unsafe.Slice(frames.data, frames.size) {
		if len(names) == maxFrames {
			break
		}
		name := fmt.Sprintf("$%d", C.wasm_frame_func_index(f))
		if n := C.wasmtime_frame_func_name(f); n != nil {
			name = C.GoStringN(n.data, C.int(n.size))
		}
		names = append(names, name+"()")
	}
	return names
}
