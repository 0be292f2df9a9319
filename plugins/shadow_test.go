package plugins_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// Fault 23: a new version that would decide otherwise, or fail, is seen before it decides.

func (r *rig) shadow(name string, wasm []byte) {
	r.t.Helper()
	if err := r.during(func() error { return r.Shadow(background, name, wasm, nil) }); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) promote(name string) error {
	return r.during(func() error { return r.Promote(background, name) })
}

// beside is what the shadow of a name counts at a hook.
func (r *rig) beside(name, hook string) plugins.ShadowHook {
	r.t.Helper()
	if s := r.info(name).Shadow; s != nil {
		for _, h := range s.Hooks {
			if h.Hook == hook {
				return h
			}
		}
	}
	r.t.Fatalf("no shadow of %s at %s", name, hook)
	return plugins.ShadowHook{}
}

func TestAShadowIsComparedAndNotObeyed(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	digest := r.info("p").Digest
	r.shadow("p", guesttest.Rejecter(2, 429))
	for range 3 {
		out, by := r.admit(0, 4)
		for i := range out {
			if out[i].MaxTokensCap != 1 || r.Ref(by[i]).Digest != digest {
				t.Fatalf("row %d: %+v by %+v, want the active version's decision", i, out[i], r.Ref(by[i]))
			}
		}
	}
	h := r.beside("p", "admit")
	if h.Calls != 3 || h.Agree != 0 || h.Differ != 12 || h.Would["reject"] != 6 || h.Would["abstain"] != 6 || h.Would["admit"] != 0 {
		t.Errorf("counted %+v, want 3 calls, 6 rejected and 6 left", h)
	}
	s := r.info("p").Shadow
	if len(s.Differences) != 12 || s.Since == 0 || s.Digest == digest || s.Dropped != "" {
		t.Fatalf("reported %+v", s)
	}
	d := s.Differences[0]
	if d.Hook != "admit" || d.Request != 1 || d.At == 0 || d.Active != "admit max_tokens_cap=1" || d.Shadow != "reject status=429" {
		t.Errorf("the first difference is %+v", d)
	}
	if c := r.hook("p", "admit"); c.Calls != 3 || c.Fallbacks["trap"] != 0 {
		t.Errorf("the active version counts %+v", c)
	}
}

func TestADifferenceNamesTheReason(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	r.shadow("p", guesttest.Policy(guesttest.Hook(abi.ExportAdmit,
		guesttest.Put32(guesttest.OutPtr, int32(abi.ActionReject)|0xff<<8|529<<16),
		guesttest.Put32(guesttest.OutPtr+4, int32(abi.ReasonCapacity)), guesttest.I32(0))))
	r.admit(0, 1)
	d := r.info("p").Shadow.Differences
	if len(d) != 1 || d[0].Shadow != "reject status=529 reason=capacity" {
		t.Errorf("the differences are %+v", d)
	}
}

func TestAShadowOfTheSamePolicyAgrees(t *testing.T) {
	for _, x := range exports {
		if x.hook == "events" {
			continue
		}
		t.Run(x.hook, func(t *testing.T) {
			r := newRig(t, plugins.Options{Inline: true})
			wasm := guesttest.Policy(guesttest.Hook(x.export, guesttest.I32(0)))
			r.push("p", wasm)
			r.shadow("p", wasm)
			for range 5 {
				ask(r.step(), x.hook, r.now, 0)
			}
			if h := r.beside("p", x.hook); h.Calls != 5 || h.Agree < 5 || h.Differ != 0 {
				t.Errorf("counted %+v", h)
			}
		})
	}
}

func TestWhatAShadowWouldHaveDoneIsSaidInShort(t *testing.T) {
	plan, other := abi.BatchPlan{MaxSeqs: 8}, abi.BatchPlan{MaxSeqs: 4, ReserveSeqs: 1, HoldSteps: 9}
	other.ClassMaxSeqs[3] = 2
	rank := []abi.Ranking{{Score: 5}, {Score: 9}, {Score: 5}}
	order := []abi.Ranking{{Score: 50}, {Score: 10, Flags: 1}, {Score: 50}}
	draft := abi.SpecPlan{K: 4}
	each := func(p abi.SpecPlan, k ...int32) []byte {
		return append(append([]byte{}, abi.Bytes(&p)...), abi.SliceBytes(k)...)
	}
	cases := []struct {
		hook, export         string
		active, shadow       []byte
		would, said, shadow2 string
		request              uint64
	}{
		{"batch_cap", abi.ExportBatchCap, abi.Bytes(&plan), abi.Bytes(&other), "lower", "plan max_seqs=8", "plan max_seqs=4 reserve_seqs=1 class_max_seqs[3]=2", 0},
		{"batch_cap", abi.ExportBatchCap, abi.Bytes(&other), abi.Bytes(&abi.BatchPlan{}), "raise", "plan max_seqs=4 reserve_seqs=1 class_max_seqs[3]=2", "plan", 0},
		{"prioritize", abi.ExportPrioritize, abi.SliceBytes(rank), abi.SliceBytes(order), "rank", "place 0", "place 1", 1},
		{"speculate", abi.ExportSpeculate, each(draft, -1, 2, -1), each(abi.SpecPlan{}, -1, -1, -1), "stop", "k=4", "k=0", 0},
		{"speculate", abi.ExportSpeculate, each(draft, -1, 2, -1), each(draft, -1, 3, -1), "draft", "k=4 this_row=2", "k=4 this_row=3", 2},
	}
	for _, c := range cases {
		t.Run(c.hook+" "+c.shadow2, func(t *testing.T) {
			r := newRig(t, plugins.Options{Inline: true})
			r.push("p", scripted(c.export, c.active))
			r.shadow("p", scripted(c.export, c.shadow))
			ask(r.step(), c.hook, r.now, 0)
			h, d := r.beside("p", c.hook), r.info("p").Shadow.Differences
			if h.Differ != 1 || h.Agree != 0 || h.Would[c.would] != 1 || len(d) != 1 {
				t.Fatalf("counted %+v with %+v", h, d)
			}
			if d[0].Active != c.said || d[0].Shadow != c.shadow2 || d[0].Request != c.request || d[0].Hook != c.hook {
				t.Errorf("got %+v", d[0])
			}
		})
	}
}

func TestAShadowSeesWhatThePoliciesBeforeItLeave(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	r.push("first", guesttest.Rejecter(2, 503))
	r.push("p", guesttest.Admitter(1))
	r.shadow("p", guesttest.Admitter(2))
	r.push("last", guesttest.Admitter(7))
	r.admit(0, 5)
	if h := r.beside("p", "admit"); h.Would["admit"] != 3 || h.Differ != 3 {
		t.Errorf("counted %+v, want the 3 rows that the first policy left", h)
	}
}

func TestAShadowOfANewNameIsComparedWithNoOpinion(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.shadow("new", guesttest.Rejecter(1, 429))
	out, by := r.admit(0, 3)
	if out[0].Action != 0 || by[0] != abi.Native {
		t.Errorf("%+v by %d, want the native default", out[0], by[0])
	}
	if h := r.beside("new", "admit"); h.Agree != 2 || h.Differ != 1 || r.info("new").State != plugins.StateShadow {
		t.Errorf("counted %+v, listed as %s", h, r.info("new").State)
	}
	if d := r.info("new").Shadow.Differences; len(d) != 1 || d[0].Active != "abstain" {
		t.Errorf("differences %+v", d)
	}
	if err := r.during(func() error { return r.Rollback(background, "new") }); !errors.Is(err, plugins.ErrUnknown) {
		t.Errorf("rolled back: %v", err)
	}
	if err := r.promote("new"); err != nil {
		t.Fatal(err)
	}
	if out, by = r.admit(0, 3); out[0].Status != 429 || r.Ref(by[0]).Name != "new" || r.info("new").Version != 1 || r.info("new").Shadow != nil {
		t.Errorf("promoted: %+v by %+v", out[0], r.Ref(by[0]))
	}
}

func TestAShadowThatFailsIsDroppedAndTouchesNothing(t *testing.T) {
	for name, f := range failing() {
		for _, inline := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", inline ", inline), func(t *testing.T) {
				r := newRig(t, plugins.Options{Inline: inline, FaultLimit: 3})
				r.push("p", guesttest.Admitter(1))
				r.shadow("p", guesttest.Breaker(2, armed, f.code))
				dropped := func() bool { return r.info("p").Shadow.Dropped != "" }
				r.eventually("it is dropped", func() bool {
					if out, by := r.admit(armed, 1); out[0].MaxTokensCap != 1 || by[0] <= 0 {
						t.Fatalf("decided %+v by %d", out[0], by[0])
					}
					return dropped()
				})
				calls := r.hook("p", "admit").Calls
				r.admit(0, 1)
				if h := r.beside("p", "admit"); h.Fallbacks[f.reason] != 3 {
					t.Errorf("counted %+v, want 3 faults", h)
				}
				h := r.hook("p", "admit")
				if h.Calls != calls+1 || h.Fallbacks["trap"]+h.Fallbacks["out_of_fuel"]+h.Fallbacks["bad_return"] != 0 || r.info("p").State != plugins.StateActive {
					t.Errorf("the active version counts %+v", h)
				}
				if err := r.promote("p"); !errors.Is(err, plugins.ErrNoShadow) || !strings.Contains(err.Error(), "dropped: policy p@") {
					t.Errorf("promoted: %v", err)
				}
				r.eventually("an event and its memory", func() bool {
					_, i := r.rt.Live()
					e := r.events(plugins.EventDropped)
					return len(e) == 1 && e[0].Shadow && i <= 2
				})
				if len(r.events(plugins.EventQuarantined)) != 0 {
					t.Error("an event says that the policy was quarantined")
				}
			})
		}
	}
}

func TestAShadowBeginsWithThePolicysStateAndKeepsItsOwnWhenPromoted(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", counting(1))
	r.mark()
	r.mark()
	r.shadow("p", counting(100))
	r.mark() // 3, and beside it 102
	if d := r.info("p").Shadow.Differences; len(d) != 1 || d[0].Active != "admit max_tokens_cap=3" || d[0].Shadow != "admit max_tokens_cap=102" {
		t.Errorf("differences %+v, want 3 against 102", d)
	}
	if err := r.promote("p"); err != nil {
		t.Fatal(err)
	}
	if got := r.mark(); got != 202 {
		t.Errorf("promoted, it counts to %d, want 202", got)
	}
	if h := r.hook("p", "admit"); h.Calls != 1 || r.info("p").Version != 2 || r.info("p").Previous == "" {
		t.Errorf("counted %+v, listed %+v", h, r.info("p"))
	}
	if err := r.during(func() error { return r.Rollback(background, "p") }); err != nil || r.mark() != 203 {
		t.Errorf("rolled back: %v", err)
	}
}

func TestAShadowThatLostItsStateGetsThePolicysWhenPromoted(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	failing := guesttest.Policy(
		guesttest.Hook(abi.ExportAdmit, guesttest.When(armed, guesttest.Unreachable),
			guesttest.Put32(guesttest.OutPtr, 1|0xff<<8), guesttest.I32(guesttest.OutPtr), guesttest.I32(guesttest.Free), guesttest.Load32(0), guesttest.Store32(16), guesttest.I32(0)),
		guesttest.Hook(abi.ExportSave, guesttest.I64(guesttest.Free<<32|4)),
		guesttest.Hook(abi.ExportRestore, guesttest.I32(guesttest.Free), guesttest.I32(guesttest.ConfigPtr), guesttest.Load32(0), guesttest.Store32(0), guesttest.I32(0)))
	r.push("p", counting(1))
	r.shadow("p", failing)
	r.mark()
	r.admit(armed, 1) // 2; the shadow's instance is replaced
	if err := r.Promote(background, "p"); err != nil {
		t.Fatal(err)
	}
	if got := r.mark(); got != 2 {
		t.Errorf("it knows %d, want the policy's 2", got)
	}
}

func TestANameHasOneShadowAndItGoesWithoutATrace(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	r.shadow("p", guesttest.Admitter(2))
	r.shadow("p", guesttest.Admitter(3))
	r.shadow("q", guesttest.Admitter(4))
	r.eventually("the first shadow is freed", func() bool { m, i := r.rt.Live(); return m == 3 && i == 6 })
	for _, name := range []string{"p", "q"} {
		if err := r.during(func() error { return r.Unshadow(background, name) }); err != nil {
			t.Fatal(err)
		}
		if err := r.during(func() error { return r.Unshadow(background, name) }); !errors.Is(err, plugins.ErrNoShadow) {
			t.Errorf("a second time: %v", err)
		}
		if err := r.promote(name); !errors.Is(err, plugins.ErrNoShadow) {
			t.Errorf("promoted: %v", err)
		}
	}
	if l := r.List(); len(l) != 1 || l[0].Shadow != nil || r.mark() != 1 {
		t.Errorf("listed %+v", l)
	}
	r.eventually("all shadows are freed", func() bool { m, i := r.rt.Live(); return m == 1 && i == 2 })
}

func TestAShadowStaysBesideWhateverTakesThePolicysPlace(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true, FaultLimit: 1})
	r.push("p", guesttest.Breaker(1, armed, guesttest.Unreachable))
	r.shadow("p", guesttest.Admitter(5))
	r.admit(armed, 1)
	if out, by := r.admit(0, 1); out[0].Action != 0 || by[0] != abi.Native {
		t.Errorf("decided %+v by %d, want the native default", out[0], by[0])
	}
	if h := r.beside("p", "admit"); h.Calls != 2 || h.Differ != 2 {
		t.Errorf("counted %+v, want one call beside a fault and one beside nobody", h)
	}
	r.push("p", guesttest.Admitter(5))
	r.admit(0, 1)
	if h := r.beside("p", "admit"); h.Agree != 1 {
		t.Errorf("counted %+v, want it to agree with the new version", h)
	}
	r.push("other", guesttest.Admitter(9))
	if err := r.SetAll(background, []plugins.Policy{{Name: "other", Wasm: guesttest.Admitter(8)}}); err != nil || len(r.List()) != 1 {
		t.Errorf("a new set without it: %v, listed %+v", err, r.List())
	}
}
