package wasmtest

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
	"github.com/sluice-dev/sluice/sdk/go/sluicetest"
)

// asker is what both a native policy and a module in the sandbox answer.
type asker interface {
	Admit(st *sluice.State, rows ...sluice.Row) []sluice.Verdict
	Prioritize(st *sluice.State, rows ...sluice.Row) ([]sluice.Ranking, bool)
	BatchCap(st *sluice.State) (sluice.BatchPlan, bool)
	Speculate(st *sluice.State, rows ...sluice.Row) (sluice.SpecPlan, []int32, bool)
	Events(st *sluice.State, events ...sluice.Event)
	Save() []byte
	Restore(saved []byte) error
}

var (
	_ asker = (*Guest)(nil)
	_ asker = (*sluicetest.Policy)(nil)
)

// Same checks that a module decides what its Go source decides natively: over random runs of calls, with states that are
// likely and states that are mere bytes, under each of the given configurations. fresh makes an unconfigured policy.
func Same(t *testing.T, m *Module, fresh func() any, configs ...[]string) {
	t.Helper()
	probe := m.Start(t)
	if want := sluice.HooksOf(fresh()); probe.Hooks() != want {
		t.Fatalf("the module declares the hooks %b and its source has %b", probe.Hooks(), want)
	}
	hooks := each(probe.Hooks())
	rapid.Check(t, func(rt *rapid.T) {
		settings := rapid.SampledFrom(configs).Draw(rt, "config")
		native := sluicetest.New(t, fresh(), settings...)
		guest := m.Start(t)
		defer guest.Close()
		if err := guest.Configure(asMap(settings)); err != nil {
			rt.Fatalf("the module refuses %q: %v", settings, err)
		}
		clock := rapid.Int64Range(0, 1<<40).Draw(rt, "clock")
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			clock += rapid.Int64Range(0, 20*sluice.Second).Draw(rt, "later")
			c := drawCall(rt, hooks, clock)
			if a, b := c.ask(native), c.ask(guest); !reflect.DeepEqual(a, b) {
				rt.Fatalf("%s\nnative  %+v\nmodule  %+v", c.name, a, b)
			}
		}
	})
}

// call is one question.
type call struct {
	name   string
	hook   sluice.Hook
	st     sluice.State
	rows   []sluice.Row
	events []sluice.Event
}

func drawCall(t *rapid.T, hooks []sluice.Hook, now int64) call {
	c := call{hook: rapid.SampledFrom(hooks).Draw(t, "hook")}
	seed := rapid.Uint64().Draw(t, "seed")
	n := rapid.IntRange(0, 24).Draw(t, "rows")
	if rapid.IntRange(0, 3).Draw(t, "mere bytes") == 0 {
		c.st, c.rows = noise(seed, n)
	} else {
		c.st, c.rows = likely(seed, n, now)
	}
	for i := range c.rows {
		c.events = append(c.events, sluice.Event{ID: c.rows[i].ID, AtNS: now, Kind: uint8(i % 5), Class: c.rows[i].Class})
	}
	c.name = fmt.Sprintf("hook %d with %d rows", c.hook, n)
	return c
}

// ask returns everything that a policy answers.
func (c *call) ask(p asker) (answer []any) {
	switch c.hook {
	case sluice.HookAdmit:
		return []any{p.Admit(&c.st, c.rows...)}
	case sluice.HookPrioritize:
		out, ok := p.Prioritize(&c.st, c.rows...)
		return []any{out, ok}
	case sluice.HookBatchCap:
		out, ok := p.BatchCap(&c.st)
		return []any{out, ok}
	case sluice.HookSpeculate:
		out, k, ok := p.Speculate(&c.st, c.rows...)
		return []any{out, k, ok}
	case sluice.HookEvents:
		p.Events(&c.st, c.events...)
	case sluice.HookState:
		saved := bytes.Clone(p.Save())
		return []any{string(saved), p.Restore(saved) == nil}
	}
	return nil
}

// each lists the hooks of a set that can be asked.
func each(set sluice.Hook) (list []sluice.Hook) {
	for h := sluice.HookAdmit; h <= sluice.HookState; h <<= 1 {
		if set.Has(h) {
			list = append(list, h)
		}
	}
	return list
}

func asMap(pairs []string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}
