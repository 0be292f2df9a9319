//go:build wasmtime

package wasmtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/meter"
	"github.com/sluice-dev/sluice/plugins/wasmtime"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
)

type quiet struct{}

func (quiet) Log(int32, []byte, bool) {}
func (quiet) Metric(uint32, int64)    {}
func (quiet) BadCall()                {}

func runtimes(b testing.TB) map[string]plugins.Runtime {
	w, err := wazero.New(wazero.Options{})
	if err != nil {
		b.Fatal(err)
	}
	t, err := wasmtime.New(wasmtime.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close(); t.Close() })
	return map[string]plugins.Runtime{"wazero": w, "wasmtime": t}
}

// BenchmarkCall is the crossing by itself: a guest that admits every row, without the policy host.
func BenchmarkCall(b *testing.B) {
	m, err := meter.Rewrite(guesttest.Admitter(1), meter.DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	for name, rt := range runtimes(b) {
		mod, err := rt.Compile(context.Background(), m.Code)
		if err != nil {
			b.Fatal(err)
		}
		i, err := mod.Instantiate(context.Background(), plugins.Env{Now: 1, Sink: quiet{}})
		if err != nil {
			b.Fatal(err)
		}
		rows := make([]byte, abi.RowSize*abi.MaxRows)
		for _, n := range []int{1, 256} {
			b.Run(fmt.Sprintf("%s/%d rows", name, n), func(b *testing.B) {
				b.ReportAllocs()
				c := plugins.Call{Entry: plugins.EntryAdmit, Arg: uint32(n), Fuel: 1e6}
				c.In[0] = plugins.Segment{Ptr: guesttest.RowsPtr, Data: rows[:n*abi.RowSize]}
				c.Out = plugins.Region{Ptr: guesttest.OutPtr, Len: uint32(n * abi.VerdictSize)}
				for b.Loop() {
					if err := i.Call(&c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		i.Close()
		mod.Close()
	}
}

func BenchmarkShipped(b *testing.B) {
	for name, rt := range runtimes(b) {
		host := plugins.New(rt, plugins.Options{Inline: true})
		var chain []plugins.Policy
		for _, m := range policies.Shipped() {
			chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm})
		}
		if err := host.SetAll(context.Background(), chain); err != nil {
			b.Fatal(err)
		}
		set, _, _ := host.Swap(1)
		for _, n := range []int{1, 256} {
			rows := make([]abi.Row, n)
			for k := range rows {
				rows[k] = abi.Row{ID: uint64(k + 1), PromptTokens: 10, MaxTokens: 10}
			}
			st := abi.State{Size: abi.StateSize, NowNS: 5e9}
			out, by, ranks := make([]abi.Verdict, n), make([]abi.PolicyID, n), make([]abi.Ranking, n)
			b.Run(fmt.Sprintf("%s/admit/%d rows", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					set.Admit(&st, rows, out, by)
				}
			})
			b.Run(fmt.Sprintf("%s/prioritize/%d rows", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					set.Prioritize(&st, rows, ranks)
				}
			})
		}
		host.Close()
	}
}
