package plugins_test

import (
	"bytes"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// parrot is a policy that writes, once it is armed, whatever lies in the state that it is shown.
func parrot(export string) []byte {
	repeat := guesttest.Seq(guesttest.I32(0), guesttest.Set(1), guesttest.Loop(
		guesttest.I32(guesttest.OutPtr), guesttest.Get(1), guesttest.Add32,
		guesttest.I32(guesttest.StatePtr+344), guesttest.Get(1), guesttest.Add32, guesttest.Load8(0), guesttest.Store8(0),
		guesttest.Get(1), guesttest.I32(1), guesttest.Add32, guesttest.Set(1),
		guesttest.Get(1), guesttest.I32(512), guesttest.LtU32, guesttest.BrIf(0)))
	return guesttest.Policy(guesttest.Hook(export, guesttest.When(armed, repeat), guesttest.I32(0)))
}

// garbled is a state whose class statistics, 512 bytes, are the garbage.
func garbled(garbage []byte, now int64) *abi.State {
	st := &abi.State{Size: abi.StateSize, NowNS: now, WaitingRequests: armed}
	copy(abi.SliceBytes(st.Classes[:]), bytes.Repeat(append(garbage, 0), 512/(len(garbage)+1)+1)[:512])
	return st
}

// FuzzOutput: whatever a guest writes as its decision, only values that the ABI allows come out, or none and a fault.
func FuzzOutput(f *testing.F) {
	f.Add([]byte{9})                                                   // an action that is none
	f.Add([]byte{2, 0xff, 200, 0})                                     // a rejection with status 200
	f.Add([]byte{1, 16})                                               // a class that is none
	f.Add(bytes.Repeat([]byte{0xff}, 512))                             // -1, huge
	f.Add([]byte{1, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128}) // the smallest numbers
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8})   // a rank flag that is none
	f.Fuzz(func(t *testing.T, garbage []byte) {
		if len(garbage) > 511 {
			garbage = garbage[:511]
		}
		for _, x := range exports[:4] {
			r := newRig(t, plugins.Options{Inline: true})
			r.push("p", parrot(x.export))
			set := r.step()
			decided := legal(t, set, x.hook, garbled(garbage, r.now))
			h := r.hook("p", x.hook)
			if h.Calls != 1 || decided == (h.Fallbacks["bad_output"] == 1) {
				t.Fatalf("%s: decided %v and counted %+v", x.hook, decided, h)
			}
		}
	})
}

// legal fails unless the answer of the set keeps to the ABI. It reports whether there was one.
func legal(t *testing.T, set abi.Decider, hook string, st *abi.State) bool {
	const n = 4
	switch hook {
	case "admit":
		out, by := make([]abi.Verdict, n), make([]abi.PolicyID, n)
		set.Admit(st, numbered(n), out, by)
		for _, v := range out {
			if v.Action > 3 || v.ClassOverride < -1 || v.ClassOverride > 15 || v.SpeculationCap < -1 || v.HasPriority > 1 ||
				v.Action == 2 && v.Status != 0 && v.Status != 429 && v.Status != 503 && v.Status != 529 {
				t.Fatalf("verdict %+v came out", v)
			}
			if v.Action == 0 && v != (abi.Verdict{}) {
				t.Fatalf("an abstention %+v says something", v)
			}
		}
		return by[0] >= 0
	case "prioritize":
		out := make([]abi.Ranking, n)
		ok, _ := set.Prioritize(st, numbered(n), out)
		for _, v := range out {
			if ok && v.Flags > 7 {
				t.Fatalf("ranking %+v came out", v)
			}
		}
		return ok
	case "batch_cap":
		var p abi.BatchPlan
		ok, _ := set.BatchPlan(st, &p)
		if p.KVAdmitCeilingPPM > 1_000_000 {
			t.Fatalf("plan %+v came out", p)
		}
		return ok
	}
	var p abi.SpecPlan
	k := make([]int32, n)
	ok, _ := set.Speculate(st, numbered(n), &p, k)
	for _, k := range append(k, int32(p.K)) {
		if ok && (k < -1 || k > abi.MaxDraft) {
			t.Fatalf("plan %+v with k %v came out", p, k)
		}
	}
	return ok
}
