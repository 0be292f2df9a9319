package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

var background = context.Background()

func TestAThousandSwapsLoseNoDecisionAndLeaveNothingOpen(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1000))
	swaps := 1000
	if testing.Short() {
		swaps = 100
	}
	var done atomic.Bool
	var pushed error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer done.Store(true)
		for i := range int32(swaps) {
			if pushed = r.Push(background, "p", guesttest.Admitter(1001+i%7), nil); pushed != nil {
				return
			}
			if l := r.List(); len(l) != 1 || l[0].Version != int(i)+2 || r.Ref(abi.PolicyID(i)+2).Digest != l[0].Digest {
				pushed = fmt.Errorf("after push %d: listed %+v", i, l)
				return
			}
		}
	})
	// Between two swaps every row is decided by one version, and epochs only rise.
	epoch := uint32(0)
	for !done.Load() {
		out, by := r.admit(0, 8)
		_, e, _ := r.Swap(r.now)
		if e < epoch {
			t.Fatalf("epoch %d after %d", e, epoch)
		}
		epoch = e
		for i := range out {
			if out[i] != out[0] || by[i] != by[0] || by[i] <= 0 || out[i].MaxTokensCap < 1000 {
				t.Fatalf("row %d: %+v by %d beside %+v by %d", i, out[i], by[i], out[0], by[0])
			}
		}
		if modules, _ := r.rt.Live(); modules > 16 {
			t.Fatalf("%d modules are open", modules)
		}
	}
	wg.Wait()
	if pushed != nil {
		t.Fatal(pushed)
	}
	if _, e, _ := r.Swap(r.now); e != uint32(swaps)+1 {
		t.Errorf("epoch %d after %d swaps and the first policy", e, swaps)
	}
	r.eventually("old versions are freed", func() bool { m, i := r.rt.Live(); return m <= 2 && i <= 3 })
}

func TestAPushReturnsWhenThePolicyDecidesFromTheNextStepOn(t *testing.T) {
	staged := make(chan struct{}, 1)
	r := newRig(t, plugins.Options{OnStaged: func() { staged <- struct{}{} }})
	r.before("p", guesttest.Admitter(1))
	set := r.step() // from here on a loop is running
	done := make(chan error, 1)
	go func() { done <- r.Push(background, "p", guesttest.Admitter(2), nil) }()
	<-staged
	select {
	case err := <-done:
		t.Fatalf("the push returned before the step: %v", err)
	default:
	}
	out := make([]abi.Verdict, 1)
	set.Admit(&abi.State{}, numbered(1), out, make([]abi.PolicyID, 1))
	if out[0].MaxTokensCap != 1 {
		t.Error("the new version decided inside a step")
	}
	if _, _, changed := r.Swap(5); !changed {
		t.Error("the swap did not say that the set changed")
	}
	if err := <-done; err != nil || r.mark() != 2 {
		t.Errorf("after the swap: %v, decided by %d", err, r.mark())
	}
	if got := r.info("p").ActiveSince; got != 5 {
		t.Errorf("active since %d, want the loop's clock, 5", got)
	}
}

func TestAPushThatIsGivenUpChangesNothing(t *testing.T) {
	staged := make(chan struct{}, 1)
	r := newRig(t, plugins.Options{OnStaged: func() { staged <- struct{}{} }})
	r.before("p", guesttest.Admitter(1))
	r.step()
	ctx, cancel := context.WithCancel(background)
	done := make(chan error, 1)
	go func() { done <- r.Push(ctx, "p", guesttest.Admitter(2), nil) }()
	<-staged
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it cancelled", err)
	}
	if r.mark() != 1 {
		t.Error("a push that was given up took effect")
	}
}

func TestALoopThatEndsLetsWaitingChangesThrough(t *testing.T) {
	staged := make(chan struct{}, 1)
	r := newRig(t, plugins.Options{OnStaged: func() { staged <- struct{}{} }})
	r.before("p", guesttest.Admitter(1))
	r.step()
	done := make(chan error, 1)
	go func() { done <- r.Push(background, "p", guesttest.Admitter(2), nil) }()
	<-staged
	r.Detach()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := r.Push(background, "p", guesttest.Admitter(3), nil); err != nil {
		t.Fatal(err)
	}
	if r.mark() != 3 {
		t.Error("a change without a loop did not take effect at once")
	}
}

func TestRollbackGoesBackOneVersionAndThenToTheNativeDefault(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	first := r.info("p").Digest
	r.push("p", guesttest.Admitter(2))
	if r.info("p").Previous != first {
		t.Errorf("previous %q, want %s", r.info("p").Previous, first)
	}
	back := func() error { return r.during(func() error { return r.Rollback(background, "p") }) }
	if err := back(); err != nil || r.mark() != 1 || r.info("p").Digest != first || r.info("p").Previous != "" {
		t.Errorf("rolled back: %v, decided by %d, listed %+v", err, r.mark(), r.info("p"))
	}
	if err := back(); err != nil || r.mark() != 0 || len(r.List()) != 0 {
		t.Errorf("without a previous version: %v, decided by %d, listed %+v", err, r.mark(), r.List())
	}
	if err := back(); !errors.Is(err, plugins.ErrUnknown) {
		t.Errorf("a third time: %v, want no policy of that name", err)
	}
}

func TestTheSameModuleAndConfigurationAgainIsNoChange(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	_, before, _ := r.Swap(r.now)
	r.push("p", guesttest.Admitter(1))
	if _, after, _ := r.Swap(r.now); after != before || r.info("p").Version != 1 {
		t.Errorf("epoch %d became %d, version %d", before, after, r.info("p").Version)
	}
}

func TestTheFirstSetIsTakenWholeOrNotAtAll(t *testing.T) {
	r := newRig(t, plugins.Options{})
	set := func(p ...plugins.Policy) error { return r.SetAll(background, p) }
	if err := set(plugins.Policy{Name: "a", Wasm: guesttest.Admitter(1)}, plugins.Policy{Name: "b"}); err == nil || len(r.List()) != 0 {
		t.Errorf("with a broken policy: %v, listed %v", err, r.List())
	}
	if err := set(plugins.Policy{Name: "a", Wasm: guesttest.Admitter(1)}, plugins.Policy{Name: "a", Wasm: guesttest.Admitter(2)}); err == nil {
		t.Error("two policies of one name were taken")
	}
	if err := set(plugins.Policy{Name: "b", Wasm: guesttest.Admitter(5)}, plugins.Policy{Name: "a", Wasm: guesttest.Admitter(3)}); err != nil {
		t.Fatal(err)
	}
	if l := r.List(); len(l) != 2 || l[0].Name != "b" || r.mark() != 3 {
		t.Errorf("listed %+v, decided by %d; want b before a and the stricter cap", l, r.mark())
	}
	if err := r.during(func() error { return set(plugins.Policy{Name: "a", Wasm: guesttest.Admitter(4)}) }); err != nil {
		t.Fatal(err)
	}
	if l := r.List(); len(l) != 1 || l[0].Previous == "" || r.mark() != 4 {
		t.Errorf("listed %+v, decided by %d; want a alone, with its version before", l, r.mark())
	}
	if err := r.during(func() error { return r.Remove(background, "a") }); err != nil || r.mark() != 0 {
		t.Errorf("removed: %v, decided by %d", err, r.mark())
	}
}

// counting admits with its number of calls as the mark, and carries it over a swap. The version is what it adds.
func counting(step int32, restore ...guesttest.Code) []byte {
	return guesttest.Policy(countingFuncs(step, restore...)...)
}

func countingFuncs(step int32, restore ...guesttest.Code) []guesttest.Func {
	count := guesttest.Seq(guesttest.I32(guesttest.Free), guesttest.Load32(0))
	if restore == nil {
		restore = []guesttest.Code{guesttest.I32(guesttest.Free), guesttest.I32(guesttest.ConfigPtr), guesttest.Load32(0), guesttest.Store32(0), guesttest.I32(0)}
	}
	return []guesttest.Func{
		guesttest.Hook(abi.ExportAdmit,
			guesttest.I32(guesttest.Free), count, guesttest.I32(step), guesttest.Add32, guesttest.Store32(0),
			guesttest.Put32(guesttest.OutPtr, 1|0xff<<8), guesttest.I32(guesttest.OutPtr), count, guesttest.Store32(16), guesttest.I32(0)),
		guesttest.Hook(abi.ExportSave, guesttest.I64(guesttest.Free<<32|4)),
		guesttest.Hook(abi.ExportRestore, restore...),
	}
}

func TestASwapCarriesThePolicysStateOver(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", counting(1))
	if r.mark() != 1 || r.mark() != 2 {
		t.Fatal("the policy does not count, or its self-test left traces")
	}
	r.push("p", counting(100))
	if got := r.mark(); got != 102 {
		t.Errorf("the new version counts from %d, want 2", got-100)
	}
	if err := r.during(func() error { return r.Rollback(background, "p") }); err != nil {
		t.Fatal(err)
	}
	if got := r.mark(); got != 103 {
		t.Errorf("rolled back, it counts from %d, want 102", got-1)
	}
}

func TestAFaultWhileStateIsCarriedOverCostsTheStateAlone(t *testing.T) {
	// Both pass the self-test, where what is saved is what one call of admit left: the idle state's.
	onlySmall := guesttest.Seq(guesttest.I32(guesttest.ConfigPtr), guesttest.Load32(0), guesttest.I32(10), guesttest.LtU32, guesttest.Eqz32)
	cases := map[string]struct {
		then   guesttest.Code
		reason string
	}{
		"a trap":       {guesttest.Unreachable, "trap"},
		"a loop":       {guesttest.Forever(), "out_of_fuel"},
		"a bad return": {guesttest.Seq(guesttest.I32(9), guesttest.Return), "bad_return"},
		"a refusal":    {guesttest.Seq(guesttest.I32(1), guesttest.Return), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plugins.Options{})
			r.push("p", counting(1000))
			r.mark()
			r.push("p", counting(1, onlySmall, guesttest.If(c.then), guesttest.I32(0)))
			if got := r.mark(); got != 1 {
				t.Errorf("the new version counts to %d, want 1: it began anew", got)
			}
			r.eventually("an event that says that state was lost", func() bool {
				lost := r.events(plugins.EventStateLost)
				return len(lost) == 1 && lost[0].Err != nil
			})
			if c.reason != "" && r.hook("p", "state").Fallbacks[c.reason] != 1 {
				t.Errorf("counted %+v, want one %s", r.hook("p", "state"), c.reason)
			}
		})
	}
}

// gated delays instances once it is closed.
type gated struct {
	*Runtime
	gate sync.RWMutex
}

type gatedModule struct {
	plugins.Module
	g *gated
}

func (g *gated) Compile(ctx context.Context, code []byte) (plugins.Module, error) {
	m, err := g.Runtime.Compile(ctx, code)
	return gatedModule{m, g}, err
}

func (m gatedModule) Instantiate(ctx context.Context, env plugins.Env) (plugins.Instance, error) {
	m.g.gate.RLock()
	defer m.g.gate.RUnlock()
	return m.Module.Instantiate(ctx, env)
}

func TestWithoutASpareTheNativeDefaultDecidesAndNobodyIsQuarantined(t *testing.T) {
	rt := newRuntime(t)
	g := &gated{Runtime: rt}
	r := newRigOn(t, rt, g, plugins.Options{})
	r.push("p", guesttest.Breaker(1, armed, guesttest.Unreachable))
	g.gate.Lock()
	r.admit(armed, 1) // the instance
	r.admit(armed, 1) // its spare
	for range 20 {
		if _, by := r.admit(0, 1); by[0] >= 0 {
			t.Fatalf("decided by %d without an instance", by[0])
		}
	}
	if h := r.hook("p", "admit"); h.Fallbacks["no_instance"] != 20 || r.info("p").State != plugins.StateActive {
		t.Errorf("counted %+v, state %s; want 20 without an instance and no quarantine", h, r.info("p").State)
	}
	g.gate.Unlock()
	r.eventually("the policy decides again", func() bool { return r.mark() == 1 })
}

func TestOnePolicyAtATimeIsPrepared(t *testing.T) {
	rt := newRuntime(t)
	g := &gated{Runtime: rt}
	r := newRigOn(t, rt, g, plugins.Options{})
	g.gate.Lock()
	first := make(chan error, 1)
	go func() { first <- r.Push(background, "a", guesttest.Admitter(1), nil) }()
	for m, _ := rt.Live(); m == 0; m, _ = rt.Live() {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(background)
	second := make(chan error, 1)
	go func() { second <- r.Push(ctx, "b", guesttest.Admitter(2), nil) }()
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the second push: %v, want it to have waited and given up", err)
	}
	if m, _ := rt.Live(); m != 1 {
		t.Errorf("%d modules were compiled at once", m)
	}
	g.gate.Unlock()
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestTwoVersionsOfOneNameAreToldApartByDigestEverywhere(t *testing.T) {
	r := newRig(t, plugins.Options{})
	ids := map[abi.PolicyID]bool{}
	for i := range int32(3) {
		r.push("p", guesttest.Admitter(i+1))
		_, by := r.admit(0, 1)
		p := r.info("p")
		if ref := r.Ref(by[0]); ref.Name != "p" || ref.Digest != p.Digest || ref.Fallback || ids[by[0]] {
			t.Errorf("version %d: decided by %d = %+v, listed %s", i, by[0], ref, p.Digest)
		}
		if ref := r.Ref(-by[0]); ref.Digest != p.Digest || !ref.Fallback {
			t.Errorf("the fallback of %d is %+v", by[0], ref)
		}
		if p.Version != int(i)+1 {
			t.Errorf("version %d, want %d", p.Version, i+1)
		}
		ids[by[0]] = true
	}
	for _, e := range r.events(plugins.EventActivated) {
		if e.Digest == "" {
			t.Errorf("event without a digest: %+v", e)
		}
	}
	if r.Ref(abi.Native).Name != "native" || r.Ref(1000).Name != "unknown" {
		t.Error("the native default or an unknown id has another's name")
	}
}

func TestACandidateThatIsNotActivatedLeavesNothing(t *testing.T) {
	r := newRig(t, plugins.Options{})
	c, err := r.Prepare(background, "p", guesttest.Admitter(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Info().Hooks); got != "[admit]" || len(r.List()) != 0 {
		t.Errorf("hooks %s, listed %v", got, r.List())
	}
	c.Close()
	if m, i := r.rt.Live(); m != 0 || i != 0 {
		t.Errorf("%d modules and %d instances are left", m, i)
	}
}

func TestAClosedHostRefuses(t *testing.T) {
	r := newRig(t, plugins.Options{})
	r.push("p", guesttest.Admitter(1))
	r.Close()
	if err := r.Push(background, "p", guesttest.Admitter(2), nil); !errors.Is(err, plugins.ErrClosed) {
		t.Errorf("push: %v", err)
	}
	if err := r.Rollback(background, "p"); !errors.Is(err, plugins.ErrClosed) {
		t.Errorf("rollback: %v", err)
	}
}
