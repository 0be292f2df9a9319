package policies_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/replay"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies/wasmtest"
)

const (
	ms  = int64(1e6)
	sec = 1000 * ms
)

// cache keeps compiled policies for the tests of this package.
var cache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "policies")
	if err != nil {
		panic(err)
	}
	cache = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// policy is a shipped one with settings, alternating keys and values.
func policy(t testing.TB, name string, settings ...string) plugins.Policy {
	t.Helper()
	p := plugins.Policy{Name: name, Wasm: wasmtest.Shipped(t, name), Config: map[string]string{}}
	for i := 0; i+1 < len(settings); i += 2 {
		p.Config[settings[i]] = settings[i+1]
	}
	return p
}

// load puts a chain of policies into the real host, and checks at the end of the test that none of them ever failed.
func load(t testing.TB, chain ...plugins.Policy) *plugins.Host {
	t.Helper()
	rt, err := wazero.New(wazero.Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	host := plugins.New(rt, plugins.Options{Inline: true})
	t.Cleanup(func() { host.Close() })
	if err := host.SetAll(context.Background(), chain); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noFaults(t, host) })
	return host
}

func noFaults(t testing.TB, host *plugins.Host) {
	for _, p := range host.List() {
		for _, h := range p.Calls {
			for why, n := range h.Fallbacks {
				if n > 0 {
					t.Errorf("%s failed %d times at %s: %s", p.Name, n, h.Hook, why)
				}
			}
		}
	}
}

// Each policy answers 256 rows with less than half of its budget.
func TestFuel(t *testing.T) {
	b := plugins.DefaultBudget
	host := load(t, policy(t, "queue-age", "arrival_factor", "2"), policy(t, "class-priority"), policy(t, "tpot-cap"), policy(t, "spec-off"))
	set, _, _ := host.Swap(1)
	rows := make([]abi.Row, abi.MaxRows)
	for i := range rows {
		wait := int64(i) * 100 * ms
		rows[i] = abi.Row{ID: uint64(i), Class: uint8(i % abi.Classes), Phase: uint8(i % 4), WaitNS: wait, AgeNS: wait, Priority: int32(i % 5)}
	}
	st := abi.State{
		Size: abi.StateSize, StepID: 100, NowNS: 3600 * sec, Valid: ^uint64(0) >> (64 - 17), Running: 4, MaxNumSeqs: 64, KMax: 15,
		WaitingRequests: 256, EstimatedWaitNS: 30 * sec, ITLP50NS: 90 * ms,
	}
	var plan abi.BatchPlan
	var spec abi.SpecPlan
	for range 20 {
		st.StepID += 100
		set.Admit(&st, rows, make([]abi.Verdict, len(rows)), make([]abi.PolicyID, len(rows)))
		set.Prioritize(&st, rows, make([]abi.Ranking, len(rows)))
		set.BatchPlan(&st, &plan)
		set.Speculate(&st, rows, &spec, make([]int32, len(rows)))
	}
	for _, p := range host.List() {
		for _, h := range p.Calls {
			budget := b.BatchBase + abi.MaxRows*b.BatchRow
			switch h.Hook {
			case "configure", "state":
				continue
			case "batch_cap":
				budget = b.Scalar
			}
			t.Logf("%s %s: %d of %d units", p.Name, h.Hook, h.MaxFuel, budget)
			if h.Calls < 20 || h.MaxFuel > uint64(budget)/2 {
				t.Errorf("%s %s: %d calls, %d of %d units", p.Name, h.Hook, h.Calls, h.MaxFuel, budget)
			}
		}
	}
}

// Whoever pushes a policy with a wrong setting reads which one.
func TestRefusedSettings(t *testing.T) {
	host := load(t, policy(t, "queue-age"))
	p := policy(t, "queue-age")
	err := host.Push(context.Background(), p.Name, p.Wasm, map[string]string{"max_age": "soon", "maxage": "1s"})
	for _, want := range []string{`max_age="soon"`, `unknown key "maxage": known are max_age, `} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// The cap that tpot-cap has come to outlives a push of another version.
func TestCapSurvivesSwap(t *testing.T) {
	host := load(t, policy(t, "tpot-cap", "hold_steps", "1"))
	st := abi.State{Size: abi.StateSize, MaxNumSeqs: 16, Running: 16, ITLP50NS: 90 * ms, Valid: abi.StateHasITLP50NS}
	ask := func() uint32 {
		set, _, _ := host.Swap(int64(st.StepID))
		st.StepID++
		var plan abi.BatchPlan
		set.BatchPlan(&st, &plan)
		return plan.MaxSeqs
	}
	if first, cut := ask(), ask(); first != 16 || cut != 12 {
		t.Fatalf("the cap goes from %d to %d", first, cut)
	}
	p := policy(t, "tpot-cap")
	if err := host.Push(context.Background(), p.Name, p.Wasm, map[string]string{"hold_steps": "1", "tpot": "60ms"}); err != nil {
		t.Fatal(err)
	}
	if kept := ask(); kept != 12 {
		t.Errorf("the cap is %d after a swap", kept)
	}
}

// linear is a device whose steps take a time for themselves and one for each request.
type linear struct{ base, each int64 }

func (l linear) StepNS(parts []sim.Part) int64 {
	if len(parts) == 0 {
		return 0
	}
	return l.base + l.each*int64(len(parts))
}

// traffic replays records on a small device under a chain of policies, and returns what became of each.
func traffic(t *testing.T, cost sim.Cost, records []trace.Record, chain ...plugins.Policy) []trace.Record {
	t.Helper()
	return drafting(t, 0, cost, records, chain...)
}

// drafting is traffic with something to draft at every step, of which each token is accepted with that chance.
func drafting(t *testing.T, acceptance float64, cost sim.Cost, records []trace.Record, chain ...plugins.Policy) []trace.Record {
	t.Helper()
	slices.SortStableFunc(records, func(a, b trace.Record) int { return int(a.Arrival - b.Arrival) })
	var out []trace.Record
	in := replay.Input{
		Records: records, Seed: 1, Acceptance: acceptance, OnEnd: func(r *trace.Record) { out = append(out, *r) },
		Sim: sim.Profile{Cost: cost, Name: "linear", ContextTokens: 4096, KVTokens: 65536, MaxSeqs: 16, MaxBatchTokens: 2048},
	}
	if len(chain) > 0 {
		host := load(t, chain...)
		in.Policies, _, _ = host.Swap(0)
		in.Who = func(id abi.PolicyID) trace.Decider {
			ref := host.Ref(id)
			return trace.Decider{Policy: ref.Name, Digest: ref.Digest, Fallback: ref.Fallback}
		}
	}
	if _, err := replay.Run(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	return out
}

// every makes n requests, one each gap ns, from start on.
func every(start, gap int64, n int, class string, prompt, output int) []trace.Record {
	list := make([]trace.Record, n)
	for i := range list {
		list[i] = trace.Record{
			V: trace.Version, Imported: "test", Arrival: start + int64(i)*gap, Class: class,
			PromptTokens: prompt, OutputTokens: output, MaxTokens: output, Outcome: "length",
		}
	}
	return list
}

// worst is the largest of a figure over the records that pick wants and that have it.
func worst(records []trace.Record, pick func(*trace.Record) bool, figure func(*trace.Record) *int64) (most int64) {
	for i := range records {
		if f := figure(&records[i]); f != nil && pick(&records[i]) {
			most = max(most, *f)
		}
	}
	return most
}

func all(*trace.Record) bool { return true }

func queueTime(r *trace.Record) *int64 { return r.Queue }
func ttft(r *trace.Record) *int64      { return r.TTFT }
func tpot(r *trace.Record) *int64      { return r.TPOT }
