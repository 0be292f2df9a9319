//go:build wasmtime

package wasmtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/policies"
)

var (
	names   = [2]string{"wazero", "wasmtime"} // of what both returns
	windows = []int{1, abi.MaxRows}           // rows in a call
)

// BenchmarkCall is a runtime's own cost: rows go in, a small guest admits them, verdicts come out. No policy host.
func BenchmarkCall(b *testing.B) {
	code := metered(b, guesttest.Admitter(1))
	for k, rt := range both(b) {
		m := compile(b, rt, code)
		i, err := m.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: &story{}})
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range windows {
			c := plugins.Call{Entry: plugins.EntryAdmit, Arg: uint32(n), Fuel: 1e6}
			c.In[0] = plugins.Segment{Ptr: guesttest.RowsPtr, Data: make([]byte, n*abi.RowSize)}
			c.Out = plugins.Region{Ptr: guesttest.OutPtr, Len: uint32(n * abi.VerdictSize)}
			b.Run(fmt.Sprintf("%s/rows=%d", names[k], n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := i.Call(&c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		i.Close()
		m.Close()
	}
}

// BenchmarkDecision is what a step pays for two shipped policies, in Go, through the policy host.
func BenchmarkDecision(b *testing.B) {
	for k, rt := range both(b) {
		host := plugins.New(rt, plugins.Options{Inline: true})
		var chain []plugins.Policy
		for _, m := range policies.Shipped() {
			chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm})
		}
		if err := host.SetAll(context.Background(), chain); err != nil {
			b.Fatal(err)
		}
		set, _, _ := host.Swap(1)
		r := rand.New(rand.NewPCG(1, 2))
		st := someState(r, 1)
		for _, n := range windows {
			rows := someRows(r, n)
			verdicts, by, ranks := make([]abi.Verdict, n), make([]abi.PolicyID, n), make([]abi.Ranking, n)
			for hook, ask := range map[string]func(){
				"queue-age":      func() { set.Admit(st, rows, verdicts, by) },
				"class-priority": func() { set.Prioritize(st, rows, ranks) },
			} {
				b.Run(fmt.Sprintf("%s/%s/rows=%d", names[k], hook, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						ask()
					}
				})
			}
		}
		host.Close()
	}
}

// BenchmarkInstantiate is what a spare costs.
func BenchmarkInstantiate(b *testing.B) {
	code := metered(b, policies.Shipped()[0].Wasm)
	for k, rt := range both(b) {
		m := compile(b, rt, code)
		b.Run(names[k], func(b *testing.B) {
			for b.Loop() {
				i, err := m.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: &story{}})
				if err != nil {
					b.Fatal(err)
				}
				i.Close()
			}
		})
		m.Close()
	}
}
