package wazero

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/hostcalls"
)

type instance struct {
	mod    api.Module
	memory api.Memory
	fuel   api.MutableGlobal // nil until the start function has returned or called the host
	fn     [plugins.Entries]api.Function
	ctx    context.Context
	stack  [1]uint64

	reserved linearMemory
	guest    hostcalls.Guest
	closed   bool
}

// Call implements plugins.Instance.
func (i *instance) Call(c *plugins.Call) error {
	fn := i.fn[c.Entry]
	if fn == nil {
		return &plugins.Trap{Func: c.Entry.String(), Cause: "it is not exported"}
	}
	mem, _ := i.memory.Read(0, i.memory.Size()) // again at each call: the guest may have grown it
	for k := range c.In {
		if s := &c.In[k]; len(s.Data) > 0 {
			s.CopyTo(mem)
		}
	}
	clear(mem[c.Out.Ptr : uint64(c.Out.Ptr)+uint64(c.Out.Len)])
	i.guest.Begin(c.Now, c.Seed)
	i.stack[0] = uint64(c.Arg)
	i.fuel.Set(uint64(c.Fuel))
	err := fn.CallWithStack(i.ctx, i.stack[:])
	c.Used = c.Fuel - int64(i.fuel.Get())
	if c.Entry == plugins.EntryConfigure {
		i.fn[c.Entry] = i.mod.ExportedFunction(c.Entry.String()) // the old one keeps the stack that it needed
	}
	if err != nil {
		return i.trap(c.Entry.String(), err)
	}
	c.Ret = int64(i.stack[0])
	if c.Entry != plugins.EntrySave {
		c.Ret = int64(int32(i.stack[0]))
	}
	c.View, _ = i.memory.Read(c.Out.Ptr, c.Out.Len)
	return nil
}

// Read implements plugins.Instance.
func (i *instance) Read(ptr, size uint32) ([]byte, bool) { return i.memory.Read(ptr, size) }

// Size implements plugins.Instance.
func (i *instance) Size() uint32 { return i.memory.Size() }

// Fuel implements plugins.Instance.
func (i *instance) Fuel() int64 { return int64(i.fuel.Get()) }

// Close implements plugins.Instance.
func (i *instance) Close() error {
	if i.closed {
		return nil
	}
	i.closed = true
	if err := i.mod.Close(context.Background()); err != nil {
		return fmt.Errorf("close instance: %w", err)
	}
	return nil
}

var _ plugins.Instance = (*instance)(nil)
