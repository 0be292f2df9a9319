package llama

import (
	"sync"
	"sync/atomic"
	"unsafe"

	capi "github.com/hybridgroup/yzma/pkg/llama"
)

// abortFlag tells a running llama_decode to stop. llama.cpp asks a C function between the steps of its graph, some
// thousand times in a Forward; here that function is libc's strlen over a flag in C memory ("" = go on, "\x01" = stop),
// so that Go is not called at all.
type abortFlag struct {
	mu   sync.Mutex
	flag *uint32 // C memory; nil after close
	on   bool    // a Forward is running
}

func newAbortFlag(ctx capi.Context) *abortFlag {
	a := new(abortFlag)
	n, size := uint64(1), uint64(8)
	lib.fn.calloc.Call(&a.flag, &n, &size)
	a.attach(ctx)
	return a
}

// attach has ctx read the flag.
func (a *abortFlag) attach(ctx capi.Context) {
	fn, data := lib.fn.strlen, a.flag
	lib.fn.setAbort.Call(nil, &ctx, &fn, &data)
}

// begin opens the time in which raise has an effect; end closes it and takes back what was raised.
func (a *abortFlag) begin() { a.set(true) }
func (a *abortFlag) end()   { a.set(false) }

func (a *abortFlag) set(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.on = on
	atomic.StoreUint32(a.flag, 0)
}

func (a *abortFlag) raise() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on && a.flag != nil {
		// strlen reads bytes, so the byte at the lowest address has to be the one that is not zero.
		var one uint32
		*(*[4]byte)(unsafe.Pointer(&one)) = [4]byte{1}
		atomic.StoreUint32(a.flag, one)
	}
}

// close frees the flag; the context that reads it must be gone.
func (a *abortFlag) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flag != nil {
		lib.fn.free.Call(nil, &a.flag)
		a.flag = nil
	}
}
