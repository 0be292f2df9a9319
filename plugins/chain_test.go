package plugins_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// scripted answers the hook with the bytes, whatever it is asked.
func scripted(export string, answer []byte) []byte {
	const at = guesttest.Free
	copyOut := guesttest.Seq(guesttest.I32(0), guesttest.Set(1), guesttest.Loop(
		guesttest.I32(guesttest.OutPtr), guesttest.Get(1), guesttest.Add32,
		guesttest.I32(at), guesttest.Get(1), guesttest.Add32, guesttest.Load8(0), guesttest.Store8(0),
		guesttest.Get(1), guesttest.I32(1), guesttest.Add32, guesttest.Set(1),
		guesttest.Get(1), guesttest.I32(int32(len(answer))), guesttest.LtU32, guesttest.BrIf(0)))
	return guesttest.Module{Data: string(answer), Funcs: []guesttest.Func{guesttest.Hook(export, copyOut, guesttest.I32(0))}}.Bytes()
}

// chain puts the answers into force one after the other. Their rows beyond those given stay zero.
func chain(t *testing.T, export string, answers ...[]byte) *rig {
	r := newRig(t, plugins.Options{Inline: true})
	for i, a := range answers {
		r.push(string(rune('a'+i)), scripted(export, bytes.Clone(a)))
	}
	return r
}

func verdicts(v ...abi.Verdict) []byte { return abi.SliceBytes(v) }

func TestAdmissionChainsRejectFirstAndCombineLimitsToTheStrictest(t *testing.T) {
	free := abi.Verdict{Action: uint8(abi.ActionAdmit), ClassOverride: -1, SpeculationCap: -1}
	limited := free
	limited.QueueTTLMs, limited.MaxTokensCap, limited.SpeculationCap, limited.HasPriority, limited.PriorityOverride = 500, 100, 4, 1, 9
	degraded := free
	degraded.Action, degraded.QueueTTLMs, degraded.SpeculationCap, degraded.ClassOverride, degraded.Reason = uint8(abi.ActionDegrade), 900, 2, 3, 1001
	reject := abi.Verdict{Action: uint8(abi.ActionReject), Status: 429, ClassOverride: -1, Reason: uint16(abi.ReasonQuota), RetryAfterMs: 1500}
	both := abi.Verdict{Action: uint8(abi.ActionDegrade), ClassOverride: 3, Reason: 1001, QueueTTLMs: 500, MaxTokensCap: 100,
		SpeculationCap: 2, HasPriority: 1, PriorityOverride: 9}

	r := chain(t, abi.ExportAdmit,
		verdicts(limited, reject, abi.Verdict{}, free, abi.Verdict{}),
		// The second policy does not see what the first rejected: its second answer is for the third row.
		verdicts(degraded, abi.Verdict{}, limited, reject))
	out, by := r.admit(0, 5)
	want := []struct {
		v  abi.Verdict
		by string
	}{{both, "b"}, {reject, "a"}, {abi.Verdict{}, "native"}, {limited, "b"}, {reject, "b"}}
	for i, w := range want {
		if out[i] != w.v || r.Ref(by[i]).Name != w.by {
			t.Errorf("row %d: %+v by %s, want %+v by %s", i, out[i], r.Ref(by[i]).Name, w.v, w.by)
		}
	}
}

func TestAFaultInAChainLeavesTheOthersDecisionsStanding(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	r.push("first", guesttest.Breaker(1, armed, guesttest.Unreachable))
	r.push("second", guesttest.Rejecter(1, 503))
	r.push("third", guesttest.Breaker(1, armed, guesttest.Forever()))
	out, by := r.admit(armed, 2)
	if out[0].Action != uint8(abi.ActionReject) || r.Ref(by[0]).Name != "second" {
		t.Errorf("row 0: %+v by %d, want the second policy's rejection", out[0], by[0])
	}
	if ref := r.Ref(by[1]); out[1].Action != 0 || ref.Name != "first" || !ref.Fallback {
		t.Errorf("row 1: %+v by %+v, want the native default in the first policy's place", out[1], ref)
	}

	r = newRig(t, plugins.Options{Inline: true})
	r.push("first", guesttest.Breaker(1, armed, guesttest.Unreachable))
	r.push("fourth", guesttest.Admitter(4))
	r.push("fifth", guesttest.Breaker(1, armed, guesttest.Forever()))
	if decided, ids := r.admit(armed, 2); decided[1].MaxTokensCap != 4 || r.Ref(ids[1]).Name != "fourth" || r.Ref(ids[1]).Fallback {
		t.Errorf("row 1: %+v by %+v, want what the fourth policy decided", decided[1], r.Ref(ids[1]))
	}
}

// rankings is a chain's input for the property below.
func rankings(t *rapid.T, n int) []abi.Ranking {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) abi.Ranking {
		return abi.Ranking{
			Score: rapid.Int64Range(-2, 2).Draw(t, "score"), VictimRank: rapid.Int64Range(-1, 1).Draw(t, "victim"),
			Flags: rapid.Uint32Range(0, 7).Draw(t, "flags"),
		}
	}), n, n).Draw(t, "rankings")
}

func TestPriorityChainsOrderByTheFirstPolicyAndBreakTiesByTheNext(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "rows")
		a, b := rankings(t, n), rankings(t, n)
		r := chain(outer, abi.ExportPrioritize, abi.SliceBytes(a), abi.SliceBytes(b))
		defer r.Close()
		out := make([]abi.Ranking, n)
		ok, by := r.step().Prioritize(&abi.State{}, numbered(n), out)
		if !ok || r.Ref(by).Name != "a" {
			t.Fatalf("decided %v by %+v, want the first policy", ok, r.Ref(by))
		}
		sign := func(x, y int64) int {
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
		lexical := func(a1, a2, b1, b2 int64) int {
			if s := sign(a1, a2); s != 0 {
				return s
			}
			return sign(b1, b2)
		}
		for i := range n {
			for j := range n {
				if got, want := sign(out[i].Score, out[j].Score), lexical(a[i].Score, a[j].Score, b[i].Score, b[j].Score); got != want {
					t.Fatalf("rows %d and %d compare %d, want %d: %+v", i, j, got, want, out)
				}
				if got, want := sign(out[i].VictimRank, out[j].VictimRank), lexical(a[i].VictimRank, a[j].VictimRank, b[i].VictimRank, b[j].VictimRank); got != want {
					t.Fatalf("victims %d and %d compare %d, want %d: %+v", i, j, got, want, out)
				}
			}
			may := a[i].Flags & b[i].Flags & uint32(abi.RankFlagMayPreempt)
			keep := (a[i].Flags | b[i].Flags) &^ uint32(abi.RankFlagMayPreempt)
			if out[i].Flags != may|keep {
				t.Fatalf("row %d: flags %b of %b and %b", i, out[i].Flags, a[i].Flags, b[i].Flags)
			}
		}
	})
}

func TestOnePolicysRankingIsPassedOnAsItIs(t *testing.T) {
	want := []abi.Ranking{{Score: -1 << 62, VictimRank: 5, Flags: 7}, {Score: 1 << 62}}
	r := chain(t, abi.ExportPrioritize, abi.SliceBytes(want))
	out := make([]abi.Ranking, 2)
	if ok, _ := r.step().Prioritize(&abi.State{}, numbered(2), out); !ok || out[0] != want[0] || out[1] != want[1] {
		t.Errorf("got %+v, want %+v", out, want)
	}
}

func TestBatchPlansCombineToTheStrictestField(t *testing.T) {
	a := abi.BatchPlan{MaxSeqs: 8, MaxBatchedTokens: 0, PrefillBudgetTokens: 512, KVAdmitCeilingPPM: 900_000, ReserveSeqs: 1, HoldSteps: 4}
	b := abi.BatchPlan{MaxSeqs: 4, MaxBatchedTokens: 256, ChunkTokens: 64, KVAdmitCeilingPPM: 0, ReserveSeqs: 2, HoldSteps: 9}
	a.ClassMaxSeqs[3], b.ClassMaxSeqs[3], b.ClassMaxSeqs[5] = 7, 2, 1
	want := abi.BatchPlan{MaxSeqs: 4, MaxBatchedTokens: 256, PrefillBudgetTokens: 512, ChunkTokens: 64, KVAdmitCeilingPPM: 900_000, ReserveSeqs: 2, HoldSteps: 4}
	want.ClassMaxSeqs[3], want.ClassMaxSeqs[5] = 2, 1
	r := chain(t, abi.ExportBatchCap, abi.Bytes(&a), abi.Bytes(&b))
	var got abi.BatchPlan
	if ok, by := r.step().BatchPlan(&abi.State{}, &got); !ok || r.Ref(by).Name != "a" || got != want {
		t.Errorf("got %+v by %+v, want %+v", got, r.Ref(by), want)
	}
	// Whoever has no opinion now may have one at the next step: nothing is held.
	r.push("c", guesttest.Policy(guesttest.Hook(abi.ExportBatchCap, guesttest.I32(1))))
	want.HoldSteps = 0
	if ok, _ := r.step().BatchPlan(&abi.State{}, &got); !ok || got != want {
		t.Errorf("with one that abstains: %+v, want %+v", got, want)
	}
}

func TestSpeculationPlansCombineToTheFewestDrafts(t *testing.T) {
	plan := func(p abi.SpecPlan, k ...int32) []byte {
		return append(bytes.Clone(abi.Bytes(&p)), abi.SliceBytes(k)...)
	}
	r := chain(t, abi.ExportSpeculate,
		plan(abi.SpecPlan{K: 4, NgramMin: 1, NgramMax: 8, Probe: 1, HoldSteps: 3}, -1, 2, 15, 0),
		plan(abi.SpecPlan{K: 6, VerifySlots: 20, NgramMin: 2, NgramMax: 5, HoldSteps: 1}, -1, -1, -1, 9))
	var got abi.SpecPlan
	k := make([]int32, 4)
	ok, _ := r.step().Speculate(&abi.State{}, numbered(4), &got, k)
	want := abi.SpecPlan{K: 4, VerifySlots: 20, NgramMin: 2, NgramMax: 5, HoldSteps: 1}
	if !ok || got != want || [4]int32(k) != [4]int32{4, 2, 6, 0} {
		t.Errorf("got %+v, k %v; want %+v, k [4 2 6 0]", got, k, want)
	}
}

func TestEveryHookAbstainsToTheNativeDefault(t *testing.T) {
	for _, x := range exports {
		r := newRig(t, plugins.Options{Inline: true})
		r.push("p", guesttest.Policy(guesttest.Hook(x.export, guesttest.I32(1))))
		if decided, by := ask(r.step(), x.hook, r.now, 0); decided || by != abi.Native {
			t.Errorf("%s: decided %v by %d", x.hook, decided, by)
		}
		if h := r.hook("p", x.hook); h.Abstains != 1 || h.Calls != 1 {
			t.Errorf("%s: counted %+v, want one call that abstained", x.hook, h)
		}
	}
}

func TestEventsBeyondAPolicysRoomComeInSeveralCalls(t *testing.T) {
	// It admits with the sum of all n that its events hook saw, and has room for 2 events.
	sum := guesttest.Seq(guesttest.I32(guesttest.Free), guesttest.Load32(0))
	m := guesttest.Module{
		Descriptor: func(d *abi.Descriptor) { d.EventsCap = 2*abi.EventSize + 7 },
		Funcs: []guesttest.Func{
			guesttest.Hook(abi.ExportEvents, guesttest.I32(guesttest.Free), sum, guesttest.Get(0), guesttest.Add32, guesttest.Store32(0), guesttest.I32(0)),
			guesttest.Hook(abi.ExportAdmit, guesttest.Put32(guesttest.OutPtr, 1|0xff<<8), guesttest.I32(guesttest.OutPtr), sum, guesttest.Store32(16), guesttest.I32(0)),
		},
	}
	r := newRig(t, plugins.Options{Inline: true})
	r.push("p", m.Bytes())
	r.step().Events(&abi.State{}, make([]abi.Event, 5))
	if got, calls := r.mark(), r.hook("p", "events").Calls; got != 5 || calls != 3 {
		t.Errorf("it saw %d events in %d calls, want 5 in 3", got, calls)
	}
}

func TestAGuestThatKnowsShorterOrLongerLayoutsSeesItsOwn(t *testing.T) {
	for _, stride := range []uint32{64, 216, 320} {
		m := guesttest.Module{
			Descriptor: func(d *abi.Descriptor) { d.RowStride, d.StateCap = stride, 100 },
			// max_tokens_cap: the second row's id times 1000, plus the size of the state that was written.
			Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit,
				guesttest.Put32(guesttest.OutPtr, 1|0xff<<8), guesttest.I32(guesttest.OutPtr),
				guesttest.I32(guesttest.RowsPtr), guesttest.Load32(stride), guesttest.I32(1000), guesttest.Mul32,
				guesttest.I32(guesttest.StatePtr), guesttest.Load32(0), guesttest.Add32,
				guesttest.Store32(16), guesttest.I32(0))},
		}
		if stride > abi.RowSize {
			m.Descriptor = func(d *abi.Descriptor) {
				d.RowStride, d.StateCap, d.RowsCap = stride, 100, stride*abi.MaxRows
				d.OutPtr, d.ConfigPtr, d.EventsPtr = 200_000, 210_000, 220_000
			}
			m.MinPages = 4
			m.Funcs = []guesttest.Func{guesttest.Hook(abi.ExportAdmit,
				guesttest.Put32(200_000, 1|0xff<<8), guesttest.I32(200_000),
				guesttest.I32(guesttest.RowsPtr), guesttest.Load32(stride), guesttest.I32(1000), guesttest.Mul32,
				guesttest.I32(guesttest.StatePtr), guesttest.Load32(0), guesttest.Add32,
				guesttest.Store32(16), guesttest.I32(0))}
		}
		r := newRig(t, plugins.Options{Inline: true})
		r.push("p", m.Bytes())
		if out, _ := r.admit(0, 2); out[0].MaxTokensCap != 2100 {
			t.Errorf("stride %d: it saw id and size %d, want 2 and 100", stride, out[0].MaxTokensCap)
		}
	}
}
