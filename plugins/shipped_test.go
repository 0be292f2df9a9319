package plugins_test

import (
	"context"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/policies"
)

const second = 1_000_000_000

func shipped() (chain []plugins.Policy, modules map[string][]byte) {
	modules = map[string][]byte{}
	for _, m := range policies.Shipped() {
		chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm})
		modules[m.Name] = m.Wasm
	}
	return chain, modules
}

// serving is a state of a server with so many running, an hour after its start.
func serving(running uint32) *abi.State {
	return &abi.State{
		Size: abi.StateSize, StepID: 1000, NowNS: 3600 * second, RngSeed: 3, QueueLimit: 1024, Running: running, Decoding: running,
		MaxNumSeqs: 32, MaxBatchedTokens: 2048, BlockSize: 16, BlocksTotal: 4096, BlocksFree: 2048, KMax: abi.MaxDraft,
		WaitingRequests: 2,
	}
}

func queued(id uint64, class uint8, wait int64) abi.Row {
	now := int64(3600 * second)
	return abi.Row{ID: id, Class: class, Phase: uint8(abi.PhaseQueued), ArrivalNS: now - wait, EnqueueNS: now - wait,
		AgeNS: wait, WaitNS: wait, PromptTokens: 100, MaxTokens: 100, TenantWeight: 1, SpeculationAllowed: 1}
}

func TestTheShippedPoliciesDecideAtTheirHooks(t *testing.T) {
	if raceEnabled {
		t.Skip("compiling four policies in Go takes most of a minute with the race detector, and all of this is one goroutine")
	}
	chain, modules := shipped()
	r := newRig(t, plugins.Options{Inline: true})
	if err := r.SetAll(context.Background(), chain); err != nil {
		t.Fatal(err)
	}
	by := func(id abi.PolicyID, name string) bool {
		ref := r.Ref(id)
		return ref.Name == name && ref.Digest == r.info(name).Digest && !ref.Fallback
	}

	t.Run("queue-age sheds what waits too long, and a push changes what that is", func(t *testing.T) {
		shed := func() (uint16, abi.PolicyID) {
			out, ids := make([]abi.Verdict, 2), make([]abi.PolicyID, 2)
			r.step().Admit(serving(4), []abi.Row{queued(1, 0, 3*second), queued(2, 0, second)}, out, ids)
			if out[1].Action == uint8(abi.ActionReject) {
				t.Errorf("it shed what waited a second: %+v", out[1])
			}
			if out[0].Action != uint8(abi.ActionReject) {
				return 0, ids[0]
			}
			return out[0].Status, ids[0]
		}
		if status, _ := shed(); status != 0 {
			t.Errorf("it shed with %d what waited 3 s of 10", status)
		}
		if err := r.Push(context.Background(), "queue-age", modules["queue-age"], map[string]string{"max_age": "2s"}); err != nil {
			t.Fatal(err)
		}
		if status, id := shed(); status != 503 || !by(id, "queue-age") {
			t.Errorf("after the push: status %d by %+v, want 503 by queue-age", status, r.Ref(id))
		}
		if err := r.Rollback(context.Background(), "queue-age"); err != nil {
			t.Fatal(err)
		}
		if status, _ := shed(); status != 0 {
			t.Error("after the rollback the new age is still in force")
		}
	})
	t.Run("class-priority ranks the more important class first", func(t *testing.T) {
		out := make([]abi.Ranking, 2)
		ok, id := r.step().Prioritize(serving(4), []abi.Row{queued(1, 3, 2*second), queued(2, 0, second)}, out)
		if !ok || !by(id, "class-priority") || out[1].Score >= out[0].Score {
			t.Errorf("decided %v by %+v: %+v", ok, r.Ref(id), out)
		}
	})
	t.Run("tpot-cap lowers the cap when tokens come slowly", func(t *testing.T) {
		st := serving(16)
		st.Valid, st.ITLP95NS, st.ITLP50NS = abi.StateHasITLP95NS|abi.StateHasITLP50NS, second/5, second/6
		var first, later abi.BatchPlan
		r.step().BatchPlan(st, &first)
		st.StepID += 100
		ok, id := r.step().BatchPlan(st, &later)
		if !ok || !by(id, "tpot-cap") || later.MaxSeqs >= first.MaxSeqs || later.MaxSeqs == 0 {
			t.Errorf("decided %v by %+v: cap %d and then %d", ok, r.Ref(id), first.MaxSeqs, later.MaxSeqs)
		}
		if err := r.Push(context.Background(), "tpot-cap", modules["tpot-cap"], map[string]string{"increase": "2"}); err != nil {
			t.Fatal(err)
		}
		var kept abi.BatchPlan
		if r.step().BatchPlan(st, &kept); kept.MaxSeqs != later.MaxSeqs {
			t.Errorf("its next version begins with a cap of %d, want the %d that it had learned", kept.MaxSeqs, later.MaxSeqs)
		}
	})
	t.Run("spec-off drafts for a small batch and not for a large one", func(t *testing.T) {
		draft := func(running uint32) uint32 {
			var p abi.SpecPlan
			rows, k := make([]abi.Row, running), make([]int32, running)
			for i := range rows {
				rows[i] = queued(uint64(i+1), 0, 0)
				rows[i].Phase = uint8(abi.PhaseRunning)
			}
			if ok, id := r.step().Speculate(serving(running), rows, &p, k); !ok || !by(id, "spec-off") {
				t.Errorf("decided %v by %+v", ok, r.Ref(id))
			}
			return p.K
		}
		if small, large := draft(2), draft(20); small == 0 || large != 0 {
			t.Errorf("k is %d for 2 and %d for 20 requests", small, large)
		}
	})
	t.Run("a setting that does not exist is refused with the reason", func(t *testing.T) {
		err := r.Push(context.Background(), "queue-age", modules["queue-age"], map[string]string{"max_aeg": "2s"})
		wants(t, err, plugins.StageConfigure, "max_aeg")
	})
	t.Run("a full window costs no allocation and less than half the budget", func(t *testing.T) {
		rows, st := make([]abi.Row, abi.MaxRows), serving(8)
		for i := range rows {
			rows[i] = queued(uint64(i+1), uint8(i%3), int64(i)*second/10)
		}
		out, ids, ranks := make([]abi.Verdict, len(rows)), make([]abi.PolicyID, len(rows)), make([]abi.Ranking, len(rows))
		set := r.step()
		n := testing.AllocsPerRun(50, func() {
			set.Admit(st, rows, out, ids)
			set.Prioritize(st, rows, ranks)
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
		budget := plugins.DefaultBudget.BatchBase + plugins.DefaultBudget.BatchRow*abi.MaxRows
		for policy, hook := range map[string]string{"queue-age": "admit", "class-priority": "prioritize"} {
			if h := r.hook(policy, hook); h.LastFuel == 0 || h.LastFuel > uint64(budget)/2 {
				t.Errorf("%s burnt %d of %d units", policy, h.LastFuel, budget)
			}
		}
	})
	for _, p := range r.List() {
		for _, h := range p.Calls {
			for reason, n := range h.Fallbacks {
				if n != 0 {
					t.Errorf("%s: %d fallbacks at %s for %s", p.Name, n, h.Hook, reason)
				}
			}
		}
	}
}
