package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// Faults 17 to 19, 23 and 24 at once: everybody changes everything while a loop asks. The rig checks at the end that every
// module and instance is closed, and the package that no goroutine is left.
func TestHammer(t *testing.T) {
	workers, each := 6, 400
	if testing.Short() || raceEnabled {
		each = 25
	}
	r := newRig(t, plugins.Options{FaultLimit: 2, FaultWindow: second, Backoff: plugins.Backoff{First: 5e6, Max: 20e6}, Budget: plugins.Budget{Pages: 64}})
	r.before("a", guesttest.Admitter(1))
	r.step()
	var busy atomic.Int32
	var wg sync.WaitGroup
	for w := range workers {
		busy.Add(1)
		wg.Go(func() {
			defer busy.Add(-1)
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			for range each {
				if err := change(r.Host, rnd); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	r.serve(func() bool { return busy.Load() > 0 })
	wg.Wait()
	r.safeOff()
	r.eventually("nothing is left but what is listed", func() bool {
		want := 0
		for _, p := range r.List() {
			want++
			if p.Previous != "" {
				want++
			}
			if p.Shadow != nil && p.Shadow.Dropped == "" && p.State != plugins.StateShadow {
				want++
			}
		}
		m, i := r.rt.Live()
		return m <= int64(want) && i <= int64(2*want)
	})
}

func (r *rig) safeOff() {
	if err := r.during(func() error { return r.SafeMode(background, false) }); err != nil {
		r.t.Error(err)
	}
}

// change makes one change at random. That something is not there, or was dropped, is no failure.
func change(h *plugins.Host, rnd *rand.Rand) error {
	name := string(rune('a' + rnd.IntN(3)))
	wasm := []func() []byte{
		func() []byte { return guesttest.Admitter(1 + rnd.Int32N(50)) },
		func() []byte { return guesttest.Breaker(1+rnd.Int32N(50), armed, guesttest.Unreachable) },
		leaking,
		func() []byte { return guesttest.Policy(guesttest.Hook(abi.ExportBatchCap, guesttest.I32(0))) },
	}[rnd.IntN(4)]()
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	if rnd.IntN(8) == 0 {
		go cancel() // whoever asked gives up at some moment
	}
	var err error
	switch rnd.IntN(10) {
	case 0, 1, 2:
		err = h.Push(ctx, name, wasm, nil)
	case 3:
		err = h.Rollback(ctx, name)
	case 4:
		err = h.Shadow(ctx, name, wasm, nil)
	case 5:
		if err = h.Promote(ctx, name); err != nil {
			err = nil
		}
	case 6:
		err = errors.Join(h.Disable(ctx, name), h.Enable(ctx, name))
	case 7:
		err = h.SafeMode(ctx, rnd.IntN(2) == 0)
	case 8:
		err = h.Unshadow(ctx, name)
	case 9:
		h.List()
		err = h.Remove(ctx, name)
	}
	var refused *plugins.RefusedError // by a test on a real call
	if errors.As(err, &refused) || errors.Is(err, plugins.ErrUnknown) || errors.Is(err, plugins.ErrNoShadow) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// serve steps and asks, and checks each step: one set answers all of it, its epoch never falls, whoever decides is known,
// and a row is decided by one version alone.
func (r *rig) serve(on func() bool) {
	epoch := uint32(0)
	for i := 0; on(); i++ {
		r.now += 1_000_000
		set, e, changed := r.Swap(r.now)
		if e < epoch || i > 0 && changed != (e != epoch) {
			r.t.Fatalf("epoch %d after %d, changed %v", e, epoch, changed)
		}
		epoch = e
		waiting := uint32(0)
		if i%50 == 0 {
			waiting = armed
		}
		first, by := askAll(set, r.now, waiting)
		again, same := askAll(set, r.now, 0)
		for k := range first {
			if ref := r.Ref(by[k]); ref.Name == "unknown" || ref.Name != "native" && ref.Digest == "" {
				r.t.Fatalf("decided by %d = %+v", by[k], ref)
			}
			if set.Hooks() == 0 && (by[k] != 0 || same[k] != 0 || first[k].Action != 0 || again[k].Action != 0) {
				r.t.Fatal("a set without hooks decided")
			}
		}
	}
}

func askAll(set abi.Decider, now int64, waiting uint32) ([]abi.Verdict, []abi.PolicyID) {
	st := &abi.State{Size: abi.StateSize, NowNS: now, WaitingRequests: waiting}
	out, by := make([]abi.Verdict, 4), make([]abi.PolicyID, 4)
	set.Admit(st, numbered(4), out, by)
	set.BatchPlan(st, new(abi.BatchPlan))
	set.Events(st, make([]abi.Event, 3))
	return out, by
}

// Fault 17: 1,000 swaps under a full loop, with a shadow beside the policy and a second one behind it.
func TestAThousandSwapsUnderAFullLoop(t *testing.T) {
	swaps := 1000
	if testing.Short() || raceEnabled {
		swaps = 100
	}
	r := newRig(t, plugins.Options{})
	r.before("p", counting(1))
	r.before("cap", guesttest.Policy(guesttest.Hook(abi.ExportBatchCap, guesttest.I32(0))))
	if err := r.Shadow(background, "p", counting(1), nil); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		defer done.Store(true)
		for i := range swaps {
			// Two modules in turn, so that each push changes something; both count by one.
			if failed = r.Push(background, "p", guesttest.Module{Data: fmt.Sprint("\x00\x00\x00\x00\x00\x00\x00\x00", i%2), Funcs: countingFuncs(1)}.Bytes(), nil); failed != nil {
				return
			}
		}
	})
	// A decision that is lost or doubled by a swap would break the count.
	rows, st := numbered(abi.MaxRows), &abi.State{Size: abi.StateSize}
	out, by := make([]abi.Verdict, len(rows)), make([]abi.PolicyID, len(rows))
	for n := uint32(1); !done.Load(); n++ {
		set := r.step()
		st.NowNS = r.now
		if set.Admit(st, rows, out, by); out[0].MaxTokensCap != n || by[0] <= 0 {
			t.Fatalf("step %d: it counts to %d, by %d", n, out[0].MaxTokensCap, by[0])
		}
		set.BatchPlan(st, new(abi.BatchPlan))
	}
	wg.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
	if h := r.beside("p", "admit"); h.Differ != 0 || h.Agree == 0 {
		t.Errorf("the shadow counts %+v: it did not see the same calls", h)
	}
	r.eventually("old versions are freed", func() bool { m, i := r.rt.Live(); return m <= 4 && i <= 7 })
}
