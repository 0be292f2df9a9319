package sandbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Box holds what policies are run by. One goroutine at a time may use it and its policies.
type Box struct{ rt *kept }

// Open returns a box. The runtime stays the caller's to close, after the box.
func Open(rt plugins.Runtime) *Box {
	return &Box{&kept{rt, map[[sha256.Size]byte]bool{}, map[[sha256.Size]byte]plugins.Module{}}}
}

// Close frees what was compiled. Its policies must be closed.
func (b *Box) Close() {
	for _, m := range b.rt.compiled {
		m.Close()
	}
	clear(b.rt.compiled)
}

// Policy is one policy that can be asked.
type Policy struct {
	name   string
	wasm   []byte
	rt     *watched
	host   *plugins.Host
	report plugins.Report
	log    []string
	fault  plugins.Event
}

// neverQuarantine is more faults than anyone asks for: a policy that fails is asked again, by a fresh instance.
const neverQuarantine = 1 << 16

// Load prepares a policy as a push would, self-test included, and puts it into force. A *plugins.RefusedError says why it
// is not taken.
func (b *Box) Load(ctx context.Context, name string, wasm []byte, config map[string]string) (*Policy, error) {
	p := &Policy{name: name, wasm: wasm, rt: &watched{Runtime: b.rt}}
	p.host = plugins.New(p.rt, plugins.Options{
		Inline: true, FaultLimit: neverQuarantine, Log: slog.New(lines{&p.log}),
		OnEvent: func(e plugins.Event) {
			if e.Kind == plugins.EventFault {
				p.fault = e
			}
		},
	})
	if err := p.Configure(ctx, config); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Configure swaps the policy for the same module with another configuration. It carries its state over, if it does so.
func (p *Policy) Configure(ctx context.Context, config map[string]string) error {
	c, err := p.host.Prepare(ctx, p.name, p.wasm, config)
	if err != nil {
		return err
	}
	p.report = c.Report()
	if err := p.host.Activate(ctx, c); err != nil {
		c.Close()
		return fmt.Errorf("configure policy: %w", err)
	}
	return nil
}

// Close frees the policy.
func (p *Policy) Close() { p.host.Close() }

// Report is what its preparation found.
func (p *Policy) Report() plugins.Report { return p.report }

// Memory is the size of the guest's memory in bytes.
func (p *Policy) Memory() uint64 { return uint64(p.rt.last.Size()) }

// Hooks is what the policy answers.
func (p *Policy) Hooks() abi.Hook { return p.Set(1).Hooks() }

// Set is the policy as the decode loop sees it at the time now, in ns.
func (p *Policy) Set(now int64) abi.Decider {
	set, _, _ := p.host.Swap(now)
	return set
}

// Ask asks one question. The state's size and epoch are set as the host does.
func (p *Policy) Ask(q *Question) Answer {
	set, epoch, _ := p.host.Swap(q.State.NowNS)
	q.State.Size, q.State.PolicyEpoch = abi.StateSize, epoch
	p.log, p.fault = p.log[:0], plugins.Event{}
	a := Answer{Hook: q.Hook}
	a.put(set, q)
	if p.fault.Kind == plugins.EventFault {
		a.Decided, a.Fault, a.Err = false, p.fault.Reason, p.fault.Err
	}
	a.Log = slices.Clone(p.log)
	a.Fuel = p.Fuel(q.Hook)
	return a
}

// Fuel is what the last call of a hook took.
func (p *Policy) Fuel(h abi.Hook) uint64 {
	for _, info := range p.host.List() {
		for _, c := range info.Calls {
			if c.Hook == HookName(h) {
				return c.LastFuel
			}
		}
	}
	return 0
}

// Faults is how many calls have failed.
func (p *Policy) Faults() (n uint64) {
	for _, info := range p.host.List() {
		for _, c := range info.Calls {
			for _, count := range c.Fallbacks {
				n += count
			}
		}
	}
	return n
}

// put puts the question to the set.
func (a *Answer) put(set abi.Decider, q *Question) {
	st, rows := &q.State, q.Rows
	switch q.Hook {
	case abi.HookAdmit:
		a.Verdicts = make([]abi.Verdict, len(rows))
		set.Admit(st, rows, a.Verdicts, make([]abi.PolicyID, len(rows)))
		a.Decided = slices.ContainsFunc(a.Verdicts, func(v abi.Verdict) bool { return v.Action != uint8(abi.ActionAbstain) })
	case abi.HookPrioritize:
		a.Rankings = make([]abi.Ranking, len(rows))
		a.Decided, _ = set.Prioritize(st, rows, a.Rankings)
		a.rank(rows)
	case abi.HookBatchCap:
		a.Decided, _ = set.BatchPlan(st, &a.Batch)
	case abi.HookSpeculate:
		a.K = make([]int32, len(rows))
		a.Decided, _ = set.Speculate(st, rows, &a.Spec, a.K)
	case abi.HookEvents:
		set.Events(st, q.Events)
	}
}
