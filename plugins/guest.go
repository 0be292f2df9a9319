package plugins

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// firstClock is what a guest's clocks show while it loads. Not 0: Go's runtime takes that for a broken clock.
const firstClock = 1

// guest is one instance of a version, ready to be asked. One goroutine at a time owns it.
type guest struct {
	v     *version
	inst  Instance
	lay   layout
	call  Call
	size  [4]byte // State.Size as this guest sees it
	known uint32  // bytes of State that are copied: what the guest knows, up to the last field that it reads
	last  lastLine
	mark  uint64 // bytes of memory at which it is replaced
	quiet bool   // its lines are kept for errors but not passed on
}

// newGuest instantiates v's module, reads its descriptor, and configures it. The stage says where it failed. What the
// guest logs meanwhile is passed on only if it is the first: all instances of a version say the same.
func newGuest(ctx context.Context, v *version, first bool) (g *guest, stage Stage, err error) {
	g = &guest{v: v, quiet: !first}
	if first {
		v.logs.refill(firstClock)
	}
	inst, err := v.module.Instantiate(ctx, Env{Now: firstClock, Seed: v.seed, Sink: g})
	if err != nil {
		return nil, StageStart, g.explained(err)
	}
	g.inst, g.mark = inst, v.mark(inst.Size())
	if first {
		v.report.started(g)
	}
	stage, err = g.load()
	if first && g.lay.hooks != 0 {
		v.report.described(&g.lay)
	}
	if err != nil {
		inst.Close()
		return nil, stage, err
	}
	g.quiet = false
	return g, "", nil
}

// load is what follows the start of an instance.
func (g *guest) load() (Stage, error) {
	g.call = Call{Entry: EntryMarker, Fuel: g.v.budget.fuel(EntryMarker, 0), Now: firstClock, Seed: g.v.seed}
	if err := g.run(&g.call); err != nil {
		return StageDescriptor, err
	}
	lay, err := readLayout(g.inst, uint32(g.call.Ret))
	if err != nil {
		return StageDescriptor, err
	}
	g.lay = lay
	state := min(lay.state.Len, abi.StateSize)
	copy(g.size[:], abi.Bytes(&state))
	g.known = min(state, abi.StateBytes(lay.reads))
	if err := g.configure(); err != nil {
		return StageConfigure, err
	}
	return "", nil
}

// configure hands the configuration over, empty or not, so that a policy applies its defaults in one place.
func (g *guest) configure() error {
	cfg := g.v.configJSON
	if !g.lay.hooks.Has(abi.HookConfigure) {
		if len(g.v.config) > 0 {
			return fmt.Errorf("it takes no configuration, and was given %s", cfg)
		}
		return nil
	}
	if len(cfg) > int(g.lay.config.Len) {
		return fmt.Errorf("the configuration is %d bytes and config_cap is %d: shorten it", len(cfg), g.lay.config.Len)
	}
	c := g.prepare(EntryConfigure, len(cfg), firstClock, g.v.seed)
	c.In[0] = Segment{Ptr: g.lay.config.Ptr, Data: cfg}
	err := g.run(c)
	c.In[0] = Segment{}
	if err != nil {
		return err
	}
	if c.Ret != 0 {
		if said := g.last.String(); said != "" {
			return fmt.Errorf("it refused %s: %s", cfg, said)
		}
		return fmt.Errorf("it refused %s with code %d and logged no reason", cfg, c.Ret)
	}
	return nil
}

// prepare readies the call for an entry without any input or output.
func (g *guest) prepare(e Entry, n int, now int64, seed uint64) *Call {
	c := &g.call
	c.Entry, c.Arg, c.Fuel = e, uint32(n), g.v.budget.fuel(e, n)
	c.Now, c.Seed = max(now, firstClock), seed
	c.Out = Region{}
	return c
}

// hook asks one of the hooks that see the state. data is the rows or events, n their number, out the size of the answer.
func (g *guest) hook(e Entry, st *abi.State, data []byte, n int, out uint32) error {
	c := g.prepare(e, n, st.NowNS, st.RngSeed+uint64(e)*0x9e3779b97f4a7c15)
	g.v.logs.refill(c.Now)
	c.Out = Region{g.lay.out.Ptr, out}
	c.In[0] = Segment{Ptr: g.lay.state.Ptr, Data: abi.Bytes(st)[:g.known]}
	c.In[1] = Segment{Ptr: g.lay.state.Ptr, Data: g.size[:]}
	switch {
	case e == EntryEvents:
		c.In[2] = Segment{Ptr: g.lay.event.Ptr, Data: data}
	case len(data) > 0:
		c.In[2] = Segment{Ptr: g.lay.rows.Ptr, Data: data}
		if g.lay.stride != abi.RowSize {
			c.In[2].From, c.In[2].To = abi.RowSize, g.lay.stride
		}
	}
	err := g.run(c)
	c.In = [3]Segment{} // keep nothing of the caller's
	return err
}

// run makes the call.
func (g *guest) run(c *Call) error {
	g.last.panics = false
	if err := g.inst.Call(c); err != nil {
		return g.explained(err)
	}
	return nil
}

// explained adds to a trap what the guest said of it in its log: one without a standard error has no other place.
func (g *guest) explained(err error) error {
	var trap *Trap
	if g.last.panics && errors.As(err, &trap) && trap.Said == "" {
		trap.Said = g.last.String()
	}
	return err
}

func (g *guest) close() {
	if g != nil {
		g.inst.Close()
	}
}
