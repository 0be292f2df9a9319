package wazero

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-dev/sluice/plugins"
)

type instance struct {
	mod    api.Module
	memory api.Memory
	fuel   api.MutableGlobal // nil until the start function has returned or called the host
	fn     [plugins.Entries]api.Function
	ctx    context.Context
	sink   plugins.Sink
	stack  [1]uint64

	reserved linearMemory

	// What the guest sees of the world during the call in progress.
	now    int64
	random uint64
	said   string        // its first line on standard error
	talked bool          // it wrote to standard error
	lines  [2]lineBuffer // standard output and error
	clean  [plugins.MaxLogBytes + utf8.UTFMax]byte
	closed bool
}

// begin sets what the guest sees during the next call.
func (i *instance) begin(now int64, seed uint64) {
	i.now, i.random = now, seed
	i.said, i.talked = "", false
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
	i.begin(c.Now, c.Seed)
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

// charge makes the guest pay for a call into the host, and chargeBytes for what the host touches for it.
func (i *instance) charge(mod api.Module) {
	if i.fuel == nil {
		i.bindFuel(mod)
	}
	i.pay(plugins.HostCallFuel)
}

func (i *instance) chargeBytes(n uint64) { i.pay(plugins.HostByteFuel * int64(n)) }

func (i *instance) pay(units int64) {
	left := int64(i.fuel.Get()) - units
	i.fuel.Set(uint64(left))
	if left < 0 {
		panic(errOutOfFuel)
	}
}

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
