package plugins_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/policies/wasmtest"
)

// A guest that dies with many words is no guest that does too much work.

// lastWords writes the text to standard error when it is armed and then spends what is left of its budget.
func lastWords(text string) []byte {
	const iov = guesttest.Free + 256
	return guesttest.Module{
		Imports: []guesttest.Func{{Export: "wasi_snapshot_preview1.fd_write", Params: "iiii", Results: "i"}}, Data: text,
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit, guesttest.When(armed,
			guesttest.Put32(iov, guesttest.Free), guesttest.Put32(iov+4, int32(len(text))),
			guesttest.I32(2), guesttest.I32(iov), guesttest.I32(1), guesttest.I32(iov+8), guesttest.Call(0), guesttest.Drop,
			guesttest.Forever()), guesttest.I32(1))},
	}.Bytes()
}

func TestAGuestThatSaysThatItPanicsHasTrappedAlthoughItsBudgetIsSpent(t *testing.T) {
	for text, reason := range map[string]string{
		"panic: boom\n":                  "trap",
		"panic: the line never ended":    "trap",
		"fatal error: stack overflow\n":  "trap",
		"do not panic: all is well\n":    "out_of_fuel",
		"warning\npanic: after the fact": "out_of_fuel",
	} {
		r := newRig(t, plugins.Options{Inline: true})
		r.push("p", lastWords(text))
		r.admit(armed, 1)
		if got := r.hook("p", "admit").Fallbacks[reason]; got != 1 {
			t.Errorf("after %q: counted %+v, want one %s", text, r.hook("p", "admit").Fallbacks, reason)
		}
		line, _, _ := strings.Cut(text, "\n")
		if e := r.events(plugins.EventFault); len(e) != 1 || !strings.Contains(e[0].Err.Error(), line) {
			t.Errorf("after %q: %+v", text, e)
		}
	}
}

func TestAPanicInGoIsATrapWithItsReasonAndALoopInGoIsNot(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("it builds and compiles a policy in Go")
	}
	r := newRig(t, plugins.Options{Inline: true, FaultLimit: 100})
	r.push("p", wasmtest.Build(t, "./plugins/testdata/panics"))
	for waiting, want := range map[uint32]struct{ reason, words string }{
		77: {"trap", "panic: seventy-seven is one too many"},
		78: {"trap", "panic: runtime error: index out of range [78] with length 4"},
		79: {"trap", "panic: assignment to entry in nil map"},
		80: {"out_of_fuel", "out of fuel"},
	} {
		before := r.hook("p", "admit").Fallbacks[want.reason]
		r.admit(waiting, 1)
		e := r.events(plugins.EventFault)
		last := e[len(e)-1]
		if r.hook("p", "admit").Fallbacks[want.reason] != before+1 || last.Reason != want.reason || !strings.Contains(last.Err.Error(), want.words) {
			t.Errorf("%d waiting: counted %+v, %v", waiting, r.hook("p", "admit").Fallbacks, last.Err)
		}
	}
}

// lastLine logs the text when it is armed, and traps.
func lastLine(text string) []byte {
	return guesttest.Module{
		Imports: []guesttest.Func{{Export: "sluice.log", Params: "iii"}}, Data: text,
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit, guesttest.When(armed,
			guesttest.I32(2), guesttest.I32(guesttest.Free), guesttest.I32(int32(len(text))), guesttest.Call(0),
			guesttest.Unreachable), guesttest.I32(1))},
	}.Bytes()
}

func TestAGuestWithoutStandardErrorSaysInItsLogWhyItPanics(t *testing.T) {
	for text, said := range map[string]bool{"panic: src/lib.rs:7:9: boom": true, "all is well": false} {
		r := newRig(t, plugins.Options{Inline: true})
		r.push("p", lastLine(text))
		r.admit(armed, 1)
		e := r.events(plugins.EventFault)
		if len(e) != 1 || e[0].Reason != "trap" || strings.Contains(e[0].Err.Error(), text) != said {
			t.Errorf("after %q: %+v", text, e)
		}
	}
}
