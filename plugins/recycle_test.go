package plugins_test

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// Fault 6: a slow leak.

// leaking counts its calls, as counting does, takes a page every 64 of them, and traps when it gets none.
func leaking() []byte {
	count := guesttest.Seq(guesttest.I32(guesttest.Free), guesttest.Load32(0))
	return guesttest.Policy(
		guesttest.Hook(abi.ExportAdmit,
			guesttest.I32(guesttest.Free), count, guesttest.I32(1), guesttest.Add32, guesttest.Store32(0),
			count, guesttest.I32(63), guesttest.And32, guesttest.Eqz32, guesttest.If(guesttest.I32(1), guesttest.Grow, guesttest.I32(-1), guesttest.Sub32, guesttest.Eqz32, guesttest.If(guesttest.Unreachable)),
			guesttest.Put32(guesttest.OutPtr, 1|0xff<<8), guesttest.I32(guesttest.OutPtr), count, guesttest.Store32(16), guesttest.I32(0)),
		guesttest.Hook(abi.ExportSave, guesttest.I64(guesttest.Free<<32|4)),
		guesttest.Hook(abi.ExportRestore, guesttest.I32(guesttest.Free), guesttest.I32(guesttest.ConfigPtr), guesttest.Load32(0), guesttest.Store32(0), guesttest.I32(0)))
}

func TestAGuestThatLeaksIsReplacedWithItsStateBeforeItsMemoryIsFull(t *testing.T) {
	calls := uint32(1_000_000)
	if testing.Short() || raceEnabled {
		calls = 50_000
	}
	const pages = 32
	r := newRig(t, plugins.Options{Inline: true, Budget: plugins.Budget{Pages: pages}})
	r.push("p", leaking())
	st, rows := &abi.State{Size: abi.StateSize}, numbered(1)
	out, by := make([]abi.Verdict, 1), make([]abi.PolicyID, 1)
	for i := uint32(1); i <= calls; i++ {
		st.NowNS += 1000
		set, _, _ := r.Swap(st.NowNS)
		if set.Admit(st, rows, out, by); out[0].MaxTokensCap != i || by[0] <= 0 {
			t.Fatalf("call %d: it counts to %d, by %d", i, out[0].MaxTokensCap, by[0])
		}
	}
	p := r.info("p")
	// It starts with 2 pages and is replaced at 24: after 22 pages, or 1,408 calls.
	if want := uint64(calls / (64 * 22)); p.Recycled < want-1 || p.Recycled > want || p.Replaced != 0 {
		t.Errorf("%d instances recycled and %d replaced after faults, want %d and 0", p.Recycled, p.Replaced, want)
	}
	if h := r.hook("p", "admit"); h.Fallbacks["trap"] != 0 { // it traps when it gets no page
		t.Errorf("counted %+v", h)
	}
	if _, i := r.rt.Live(); i != 1 {
		t.Errorf("%d instances are left", i)
	}
	if e := r.events(plugins.EventRecycled); uint64(len(e)) != p.Recycled {
		t.Errorf("%d events for %d", len(e), p.Recycled)
	}
}

func TestWithAKeeperALeakingGuestAndItsShadowAreReplacedFromTheirSpares(t *testing.T) {
	r := newRig(t, plugins.Options{Budget: plugins.Budget{Pages: 64}})
	r.push("p", leaking())
	r.shadow("p", leaking())
	want := uint32(0)
	r.eventually("both are replaced three times", func() bool {
		for range 64 {
			want++
			if got := r.mark(); got != want {
				t.Fatalf("it counts to %d, want %d", got, want)
			}
		}
		p := r.info("p")
		return p.Recycled >= 3 && p.Shadow.Recycled >= 3
	})
	if h := r.beside("p", "admit"); h.Differ != 0 {
		t.Errorf("the shadow counts %+v: it lost its state", h)
	}
	r.eventually("the old instances are freed", func() bool { _, i := r.rt.Live(); return i <= 4 })
}

func TestAnInstanceThatStartsLargeIsNotReplacedForThat(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true, Budget: plugins.Budget{Pages: 16}})
	r.push("p", guesttest.Module{MinPages: 14, Funcs: []guesttest.Func{guesttest.Admit(1)}}.Bytes())
	for range 100 {
		r.mark()
	}
	if p := r.info("p"); p.Recycled != 0 {
		t.Errorf("recycled %d times", p.Recycled)
	}
}
