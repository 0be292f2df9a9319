//go:build wasmtime && linux

package wasmtime_test

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// handlers is what the process does at the signals that runtimes like to handle, and where this thread handles them.
type handlers struct {
	actions [5][4]uintptr
	stack   [3]uintptr
}

func currentHandlers(t *testing.T) (h handlers) {
	t.Helper()
	for k, sig := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTRAP} {
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&h.actions[k])), 8, 0, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&h.stack)), 0); errno != 0 {
		t.Fatal(errno)
	}
	return h
}

// TestSignalsStayGos: wasmtime can handle signals for its traps, and would then have to share them with Go.
func TestSignalsStayGos(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := currentHandlers(t)
	rt := open(t, "")
	defer rt.Close()
	m := compile(t, rt, metered(t, guesttest.Policy(guesttest.Hook(abi.ExportAdmit,
		guesttest.I32(-1), guesttest.Load32(0)))))
	defer m.Close()
	story := tell(m, func(s *story, i plugins.Instance) {
		if s.call(i, &plugins.Call{Entry: plugins.EntryAdmit, Fuel: 1000}) {
			t.Error("it read outside its memory")
		}
	})
	if after := currentHandlers(t); after != before {
		t.Errorf("signals were handled by %x and are by %x after\n%s", before, after, story)
	}
}
