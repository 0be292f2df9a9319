package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// plan is what a test wants of the device's next steps; its fault is a sim.Options.Fault.
type plan struct {
	mu   sync.Mutex
	fail []error // of the next steps
	rows []int   // of all steps
}

func (p *plan) fault(_ uint64, b *gpu.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = append(p.rows, len(b.Items))
	if len(p.fail) == 0 {
		return nil
	}
	err := p.fail[0]
	p.fail = p.fail[1:]
	return err
}

func (p *plan) next(errs ...error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = errs
}

// taken returns the rows of the steps since the last call.
func (p *plan) taken() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows := p.rows
	p.rows = nil
	return rows
}

func (f *fixture) all(t *testing.T, n, tokens int) (outcomes map[sched.Outcome]int) {
	t.Helper()
	var reqs []engine.Request
	for i := range n {
		reqs = append(reqs, engine.Request{ID: fmt.Sprint(i), Prompt: prompt("hello"), MaxTokens: tokens, IgnoreEOS: true})
	}
	streams, err := f.SubmitAll(reqs)
	if err != nil {
		t.Fatal(err)
	}
	outcomes = map[sched.Outcome]int{}
	for _, s := range streams {
		outcomes[outcome(t, s)]++
	}
	return outcomes
}

func TestALackOfMemoryLowersTheBatchForAWhile(t *testing.T) {
	p := &plan{}
	f := start(t, sim.Options{MaxSeqs: 8, Fault: p.fault}, nil)
	p.next(nil, nil, fmt.Errorf("compute: %w", gpu.ErrMemory))
	if got := f.all(t, 8, 5); got[sched.OutcomeFailed] != 8 {
		t.Errorf("ended as %v: all were in the step that failed", got)
	}
	p.taken()
	if got := f.all(t, 8, 20); got[sched.OutcomeLength] != 8 {
		t.Errorf("ended as %v", got)
	}
	for i, n := range p.taken() {
		if n > 4 && i < 32 {
			t.Errorf("step %d has %d rows, half of 8 would be 4", i, n)
		}
	}
	f.all(t, 8, 200)
	f.all(t, 8, 20)
	rows := p.taken()
	if last := rows[len(rows)-1]; last != 8 {
		t.Errorf("the last step has %d rows: the places do not come back", last)
	}
	f.settled(t)
}

func TestPoliciesAndOthersAreNotBlamedForAStepThatFails(t *testing.T) {
	p := &plan{}
	h := shipped(t)
	f := start(t, sim.Options{MaxSeqs: 1, Fault: p.fault}, func(c *engine.Config) { c.Policies = named{h} })
	p.next(nil, errors.New("broken"))
	if got := f.all(t, 3, 4); got[sched.OutcomeFailed] != 1 || got[sched.OutcomeLength] != 2 {
		t.Errorf("ended as %v: only one was in the step", got)
	}
	if snap := f.settled(t); snap.Faults.Steps != 1 || f.Ready() != nil {
		t.Errorf("faults %+v, ready: %v", snap.Faults, f.Ready())
	}
	p.next(errors.New("broken"), errors.New("broken"), errors.New("broken"))
	if got := f.all(t, 6, 4); got[sched.OutcomeFailed] != 3 || got[sched.OutcomeLength] != 3 {
		t.Errorf("ended as %v: three steps failed, with one request each", got)
	}
	f.settled(t)
	blameless(t, h)
}

// resettable is a device that fails until it is reset.
type resettable struct {
	*sim.Device
	resets atomic.Int32
	refuse atomic.Bool
}

func (r *resettable) Reset() error {
	if r.refuse.Load() {
		return errors.New("not yet")
	}
	r.resets.Add(1)
	for seq := range r.Info().MaxSeqs + r.Info().SpareSeqs {
		if err := r.Trim(seq, 0); err != nil {
			return err
		}
	}
	return nil
}

func TestADeviceThatFailsAgainAndAgainIsStartedAnew(t *testing.T) {
	p := &plan{}
	var dev *resettable
	f := start(t, sim.Options{Fault: p.fault}, func(c *engine.Config) {
		dev = &resettable{Device: c.Device.(*sim.Device)}
		c.Device = dev
	})
	broken := errors.New("broken")
	p.next(broken, broken, nil, broken, broken, broken)
	for i := range 5 {
		f.all(t, 1, 1)
		if dev.resets.Load() != 0 {
			t.Fatalf("reset after step %d: no three in a row had failed", i)
		}
	}
	f.all(t, 1, 1)
	for f.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	if got := f.all(t, 1, 4); got[sched.OutcomeLength] != 1 || dev.resets.Load() != 1 || f.settled(t).Faults.Resets != 1 {
		t.Errorf("ended as %v after %d resets", got, dev.resets.Load())
	}
}

// One request was not in the step that failed, but its KV is gone all the same: it is computed again, and its text is right.
func TestWhatRunsWhenTheDeviceIsStartedAnewIsComputedAgain(t *testing.T) {
	g := newGate()
	budget := &budget{}
	budget.tokens.Store(64)
	f := start(t, sim.Options{Fault: g.fault}, func(c *engine.Config) {
		c.Device = &resettable{Device: c.Device.(*sim.Device)}
		c.Policies = &source{d: budget}
	})
	text := strings.Repeat("a text ", 20)
	first := f.submit(t, engine.Request{ID: "first", Prompt: prompt(text), MaxTokens: 30, IgnoreEOS: true})
	other := f.submit(t, engine.Request{ID: "other", Prompt: prompt(text), MaxTokens: 30, IgnoreEOS: true})
	for b := g.wait(t); len(b.Items) < 2; b = g.wait(t) {
		g.pass <- nil
	}
	budget.tokens.Store(1)
	g.pass <- nil
	if b := g.wait(t); len(b.Items) != 1 {
		t.Fatalf("%d rows: the second one was to be left out", len(b.Items))
	}
	budget.tokens.Store(64)
	g.pass <- gpu.ErrLost
	if got := outcome(t, first); got != sched.OutcomeFailed {
		t.Errorf("the first ended as %v", got)
	}
	done := make(chan struct{})
	var got string
	go func() { got, _ = read(other); close(done) }()
	g.open(done)
	plain := start(t, sim.Options{}, nil)
	want, _ := read(plain.submit(t, engine.Request{ID: "other", Prompt: prompt(text), MaxTokens: 30, IgnoreEOS: true}))
	if snap := f.settled(t); got != want || snap.Faults.Resets != 1 {
		t.Errorf("got %q, want %q; %+v", got, want, snap.Faults)
	}
}

// budget is a policy that bounds the prompt tokens of a step.
type budget struct {
	fixedK
	tokens atomic.Uint32
}

func (*budget) Hooks() abi.Hook { return abi.HookBatchCap }
func (b *budget) BatchPlan(_ *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	out.PrefillBudgetTokens = b.tokens.Load()
	return true, 1
}

func TestADeviceThatCannotBeStartedAnewIsNotReadyUntilAStepSucceeds(t *testing.T) {
	for name, wrap := range map[string]func(*sim.Device) gpu.Device{
		"no reset":        func(d *sim.Device) gpu.Device { return d },
		"the reset fails": func(d *sim.Device) gpu.Device { r := &resettable{Device: d}; r.refuse.Store(true); return r },
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan{}
			broken := errors.New("broken")
			f := start(t, sim.Options{Fault: p.fault}, func(c *engine.Config) { c.Device = wrap(c.Device.(*sim.Device)) })
			p.next(broken, broken, broken)
			for range 3 {
				if f.Ready() != nil {
					t.Errorf("not ready too early: %v", f.Ready())
				}
				f.all(t, 1, 4)
			}
			f.snapshot(t)
			if err := f.Ready(); !errors.Is(err, broken) {
				t.Errorf("ready: %v", err)
			}
			if got := f.all(t, 1, 4); got[sched.OutcomeLength] != 1 || f.Ready() != nil {
				t.Errorf("ended as %v, ready: %v", got, f.Ready())
			}
		})
	}
}

func TestADeviceThatSaysItIsLostIsStartedAnewAtOnce(t *testing.T) {
	p := &plan{}
	var dev *resettable
	f := start(t, sim.Options{Fault: p.fault}, func(c *engine.Config) {
		dev = &resettable{Device: c.Device.(*sim.Device)}
		c.Device = dev
	})
	p.next(nil, fmt.Errorf("compute: %w", gpu.ErrLost))
	f.all(t, 1, 4)
	for f.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	if got := f.all(t, 1, 4); got[sched.OutcomeLength] != 1 || dev.resets.Load() != 1 {
		t.Errorf("ended as %v after %d resets, ready: %v", got, dev.resets.Load(), f.Ready())
	}
}

// slowReset is a device whose new start takes until the test says so.
type slowReset struct {
	*resettable
	began, end chan struct{}
}

func (s *slowReset) Reset() error {
	close(s.began)
	<-s.end
	return s.resettable.Reset()
}

// The time in which a device is started anew counts against no time in the queue, and against every deadline.
func TestWhoWaitsWhileTheDeviceStartsAnewLosesNoTime(t *testing.T) {
	const ttl = int64(150 * time.Millisecond) // long enough to be let in after the new start, on a busy machine too
	p := &plan{}
	var dev *slowReset
	f := start(t, sim.Options{Fault: p.fault}, func(c *engine.Config) {
		dev = &slowReset{&resettable{Device: c.Device.(*sim.Device)}, make(chan struct{}), make(chan struct{})}
		c.Device = dev
		c.Tick = time.Millisecond
	})
	p.next(gpu.ErrLost)
	f.all(t, 1, 4)
	within(t, dev.began, "a new start")
	waits := f.submit(t, engine.Request{ID: "waits", Prompt: prompt("x"), MaxTokens: 2, IgnoreEOS: true, TTL: ttl})
	late := f.submit(t, engine.Request{ID: "late", Prompt: prompt("x"), MaxTokens: 2, IgnoreEOS: true, Deadline: ttl})
	if got := outcome(t, late); got != sched.OutcomeExpired {
		t.Errorf("the one with a deadline ended as %v", got)
	}
	for from := f.Now(); f.Now() < from+2*ttl; {
		time.Sleep(time.Millisecond)
	}
	close(dev.end)
	if got := outcome(t, waits); got != sched.OutcomeLength {
		t.Errorf("ended as %v: the new start took more than its time in the queue", got)
	}
}

// While a step hangs, what waits is judged and expires, and the engine says that it is not ready; then it is again.
func TestAStepThatHangsIsNoticedAndTheQueueGoesOn(t *testing.T) {
	g := newGate()
	var log bytes.Buffer
	f := start(t, sim.Options{MaxSeqs: 1, Fault: g.fault}, func(c *engine.Config) {
		c.StallAfter = 30 * time.Millisecond
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	running := f.submit(t, engine.Request{ID: "running", Prompt: prompt("x"), MaxTokens: 2, IgnoreEOS: true})
	g.wait(t)
	for name, req := range map[string]engine.Request{
		"its time in the queue": {TTL: int64(20 * time.Millisecond)},
		"its deadline":          {Deadline: int64(20 * time.Millisecond)},
	} {
		req.ID, req.Prompt, req.MaxTokens = name, prompt("y"), 2
		if got := outcome(t, f.submit(t, req)); got != sched.OutcomeExpired {
			t.Errorf("%s passed, and it ended as %v", name, got)
		}
	}
	for f.Ready() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := f.Ready(); !strings.Contains(err.Error(), "step") {
		t.Errorf("the reason is %q", err)
	}
	for f.snapshot(t).Faults.Stalls == 0 {
		time.Sleep(time.Millisecond)
	}
	done := make(chan struct{})
	go func() { read(running); close(done) }()
	g.pass <- nil
	g.open(done)
	for f.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	if snap := f.settled(t); snap.Faults.Stalls != 1 || running.Result().Outcome != sched.OutcomeLength {
		t.Errorf("%d stalls are counted, it ended as %v", snap.Faults.Stalls, running.Result().Outcome)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "takes very long") {
		t.Errorf("the log says nothing of it:\n%s", log.String())
	}
	if !errors.Is(f.Ready(), engine.ErrDraining) {
		t.Errorf("closed, and ready: %v", f.Ready())
	}
}

// A policy that hangs stops the loop itself; that is seen from outside.
func TestALoopThatDoesNotTurnIsNotReady(t *testing.T) {
	h := hanging{make(chan struct{})}
	f := start(t, sim.Options{}, func(c *engine.Config) {
		c.StallAfter = 20 * time.Millisecond
		c.Policies = &source{d: h}
	})
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("x"), MaxTokens: 2, IgnoreEOS: true})
	for f.Ready() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := f.Ready(); !strings.Contains(err.Error(), "loop") {
		t.Errorf("the reason is %q", err)
	}
	close(h.c)
	read(s)
	f.Drain(context.Background())
}

type hanging struct{ c chan struct{} }

func (hanging) Hooks() abi.Hook                                                      { return abi.HookAdmit }
func (hanging) Reads() abi.Group                                                     { return abi.All }
func (h hanging) Admit(*abi.State, []abi.Row, []abi.Verdict, []abi.PolicyID)         { <-h.c }
func (hanging) Prioritize(*abi.State, []abi.Row, []abi.Ranking) (bool, abi.PolicyID) { return false, 0 }
func (hanging) BatchPlan(*abi.State, *abi.BatchPlan) (bool, abi.PolicyID)            { return false, 0 }
func (hanging) Events(*abi.State, []abi.Event)                                       {}
func (hanging) Speculate(*abi.State, []abi.Row, *abi.SpecPlan, []int32) (bool, abi.PolicyID) {
	return false, 0
}
