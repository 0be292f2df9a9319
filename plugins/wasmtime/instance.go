//go:build wasmtime

package wasmtime

// #include "guest.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/hostcalls"
)

type instance struct {
	r        *Runtime
	g        *C.sluice_guest // nil once closed
	handle   cgo.Handle      // of this, for C
	exported [plugins.Entries]bool
	host     hostcalls.Guest
	thrown   any // what a host function panicked with, which ended the guest
}

// fuel is the counter while the guest waits for the host.
type fuel C.int64_t

func (f *fuel) Get() uint64  { return uint64(*f) }
func (f *fuel) Set(v uint64) { *f = fuel(v) }

// memory is all of the guest's, as it was when it last returned or called the host.
func (i *instance) memory() []byte {
	return unsafe.Slice((*byte)(i.g.memory), i.g.size)
}

// Call implements plugins.Instance.
func (i *instance) Call(c *plugins.Call) error {
	if !i.exported[c.Entry] {
		return &plugins.Trap{Func: c.Entry.String(), Cause: "it is not exported"}
	}
	mem := i.memory()
	for k := range c.In {
		if s := &c.In[k]; len(s.Data) > 0 {
			s.CopyTo(mem)
		}
	}
	clear(mem[c.Out.Ptr : uint64(c.Out.Ptr)+uint64(c.Out.Len)])
	i.host.Begin(c.Now, c.Seed)
	g := i.g
	g.value, g.fuel = C.uint64_t(c.Arg), C.int64_t(c.Fuel)
	C.sluice_guest_call(g, C.uint32_t(c.Entry))
	c.Used = c.Fuel - int64(g.fuel)
	if g.trap != nil || g.error != nil {
		return i.outcome(c.Entry.String())
	}
	c.Ret = int64(g.value)
	if c.Entry != plugins.EntrySave {
		c.Ret = int64(int32(g.value))
	}
	c.View = mem[c.Out.Ptr : uint64(c.Out.Ptr)+uint64(c.Out.Len)]
	return nil
}

// Read implements plugins.Instance.
func (i *instance) Read(ptr, size uint32) ([]byte, bool) {
	end := uint64(ptr) + uint64(size)
	if end > uint64(i.g.size) {
		return nil, false
	}
	return i.memory()[ptr:end], true
}

// Size implements plugins.Instance.
func (i *instance) Size() uint32 { return uint32(i.g.size) }

// Fuel implements plugins.Instance.
func (i *instance) Fuel() int64 { return int64(i.g.fuel) }

// Close implements plugins.Instance.
func (i *instance) Close() error {
	if i.g == nil {
		return nil
	}
	C.sluice_guest_delete(i.g)
	i.g = nil
	i.handle.Delete()
	i.r.instances.Add(-1)
	return nil
}

//export sluiceHostCall
func sluiceHostCall(g *C.sluice_guest) {
	i := cgo.Handle(g.handle).Value().(*instance)
	// A panic must not pass wasmtime's frames: it ends the guest here, and becomes the call's error there.
	defer func() {
		if i.thrown = recover(); i.thrown != nil {
			g.ended = true
		}
	}()
	i.host.Memory = i.memory()
	args := (*[C.SLUICE_ARGS]uint64)(unsafe.Pointer(&g.args))
	hostcalls.All()[g.called].Call(&i.host, args[:])
}

var _ plugins.Instance = (*instance)(nil)
