package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// driver runs a Core step by step on a device that emits one token a sampling row.
type driver struct {
	*sched.Core
	t   *testing.T
	now int64
}

func drive(t *testing.T, cfg sched.Config, p abi.Decider) *driver {
	t.Helper()
	core, err := sched.New(cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return &driver{core, t, 1e6}
}

func (d *driver) arrive(reqs ...*sched.Request) {
	for _, r := range reqs {
		r.Arrival = d.now
	}
	d.Arrive(d.now, reqs...)
}

// steps runs n steps and returns the last batch's rows by request.
func (d *driver) steps(n int) map[uint64]sched.Row {
	d.t.Helper()
	rows := map[uint64]sched.Row{}
	for range n {
		d.now += 10e6
		clear(rows)
		if b := d.Plan(d.now); b != nil {
			res := make([]sched.Result, len(b.Rows))
			for i, r := range b.Rows {
				rows[r.Req.ID] = r
				if r.Sample {
					res[i].Emitted = 1
				}
			}
			d.Complete(d.now, res)
		}
		if err := d.Check(); err != nil {
			d.t.Fatal(err)
		}
	}
	return rows
}

// listener hears events, and decides nothing unless it has other hooks.
type listener struct {
	answers
	hooks abi.Hook // 0 = events alone
	heard []abi.Event
}

// Hooks implements abi.Decider.
func (l *listener) Hooks() abi.Hook { return l.hooks | abi.HookEvents }

// Reads implements abi.Decider.
func (*listener) Reads() abi.Group                          { return abi.All }
func (l *listener) Events(_ *abi.State, events []abi.Event) { l.heard = append(l.heard, events...) }

func TestEventsOfAPolicyThatLeftAreNobodys(t *testing.T) {
	d := drive(t, sched.DefaultConfig(2, 16, 64, 64), &listener{})
	d.arrive(&sched.Request{ID: 1, PromptTokens: 4, MaxTokens: 4})
	d.SetPolicies(nil, 1)
	if rows := d.steps(1); len(rows) != 1 {
		t.Errorf("%d rows ran", len(rows))
	}
	next := &listener{}
	d.SetPolicies(next, 2)
	d.steps(5)
	for _, e := range next.heard {
		if e.Kind == uint8(abi.EventKindAdmitted) {
			t.Errorf("the policy hears of what was before it: %+v", e)
		}
	}
}

// Admission is asked about every arrival, however idle the host is: there is no way past it.
func TestAdmissionIsAskedAboutEveryArrival(t *testing.T) {
	seen := map[uint64]int{}
	d := drive(t, sched.DefaultConfig(4, 64, 64, 4096), answers{admit: func(r *abi.Row) abi.Verdict {
		if r.Phase == uint8(abi.PhaseArrival) {
			seen[r.ID]++
		}
		return abi.Verdict{}
	}})
	id := uint64(0)
	for round := range 20 {
		var burst []*sched.Request
		for range 1 + 30*round {
			id++
			burst = append(burst, &sched.Request{ID: id, PromptTokens: 4, MaxTokens: 1})
		}
		d.arrive(burst...)
		for !d.Idle() {
			d.steps(1)
		}
	}
	for i := uint64(1); i <= id; i++ {
		if seen[i] != 1 {
			t.Fatalf("request %d was shown %d times on arrival", i, seen[i])
		}
	}
}
