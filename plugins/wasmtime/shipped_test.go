//go:build wasmtime

package wasmtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/policies"
)

// TestShippedPoliciesDecideTheSameInBoth asks the four policies, in Go, hundreds of times, with their fuel, and with what
// they log.
func TestShippedPoliciesDecideTheSameInBoth(t *testing.T) {
	var stories [2][]string
	for k, rt := range both(t) {
		stories[k] = serve(t, rt)
	}
	for n := range stories[0] {
		if stories[0][n] != stories[1][n] {
			t.Fatalf("step %d: wazero:\n%s\nwasmtime:\n%s", n, stories[0][n], stories[1][n])
		}
	}
}

// serve tells of every decision of a busy server's steps.
func serve(t *testing.T, rt plugins.Runtime) (steps []string) {
	t.Helper()
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Value.Kind() == slog.KindDuration {
			return slog.Attr{}
		}
		return a
	}}))
	host := plugins.New(rt, plugins.Options{Inline: true, Log: log})
	defer host.Close()
	var chain []plugins.Policy
	for _, m := range policies.Shipped() {
		chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm})
	}
	if err := host.SetAll(context.Background(), chain); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	for step := range 200 {
		st := someState(r, step)
		rows := someRows(r, 1+r.IntN(abi.MaxRows))
		set, _, _ := host.Swap(st.NowNS)
		steps = append(steps, decide(set, st, rows)+burnt(host))
	}
	return append(steps, logged.String())
}

// burnt tells what each policy has spent.
func burnt(host *plugins.Host) (text string) {
	for _, p := range host.List() {
		for _, h := range p.Calls {
			text += fmt.Sprintln(p.Name, h.Hook, h.Calls, h.LastFuel, h.MaxFuel, h.Fallbacks)
		}
	}
	return text
}

func decide(set abi.Decider, st *abi.State, rows []abi.Row) string {
	n := len(rows)
	verdicts, by := make([]abi.Verdict, n), make([]abi.PolicyID, n)
	set.Admit(st, rows, verdicts, by)
	ranks := make([]abi.Ranking, n)
	set.Prioritize(st, rows, ranks)
	var batch abi.BatchPlan
	set.BatchPlan(st, &batch)
	var spec abi.SpecPlan
	k := make([]int32, n)
	set.Speculate(st, rows, &spec, k)
	return fmt.Sprintln(verdicts, by, ranks, batch, spec, k)
}

func someState(r *rand.Rand, step int) *abi.State {
	running := r.Uint32N(32)
	return &abi.State{
		Size: abi.StateSize, StepID: uint64(step + 1), NowNS: int64(step+1) * 50e6, RngSeed: r.Uint64(), Valid: ^uint64(0) >> (64 - 17),
		QueueLimit: 1024, Running: running, Decoding: running, MaxNumSeqs: 32, MaxBatchedTokens: 2048, BlockSize: 16,
		BlocksTotal: 4096, BlocksFree: r.Uint32N(4096), KMax: abi.MaxDraft, WaitingRequests: r.Uint32N(300),
		EstimatedWaitNS: r.Int64N(30e9), ITLP50NS: r.Int64N(100e6), ITLP95NS: r.Int64N(200e6),
	}
}

func someRows(r *rand.Rand, n int) []abi.Row {
	rows := make([]abi.Row, n)
	for i := range rows {
		wait := r.Int64N(20e9)
		rows[i] = abi.Row{
			ID: uint64(i + 1), Class: uint8(r.IntN(abi.Classes)), Phase: uint8(r.IntN(4)), WaitNS: wait, AgeNS: wait,
			Priority: int32(r.IntN(5)), PromptTokens: r.Uint32N(4000), MaxTokens: r.Uint32N(4000), TenantWeight: 1, SpeculationAllowed: 1,
		}
	}
	return rows
}
