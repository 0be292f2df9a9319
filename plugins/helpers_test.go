package plugins_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// rig is a host whose loop is the test's goroutine.
type rig struct {
	*plugins.Host
	t     *testing.T
	rt    *Runtime
	mu    sync.Mutex
	heard []plugins.Event
	now   int64
	alone bool // Options.Inline: there is no other goroutine
}

// newRig starts a host. At the test's end it is closed, and everything it made must be closed with it.
func newRig(t *testing.T, opt plugins.Options) *rig {
	t.Helper()
	rt := newRuntime(t)
	return newRigOn(t, rt, rt, opt)
}

func newRigOn(t *testing.T, rt *Runtime, used plugins.Runtime, opt plugins.Options) *rig {
	r := &rig{t: t, rt: rt, now: 1_000_000_000, alone: opt.Inline}
	then := opt.OnEvent
	opt.OnEvent = func(e plugins.Event) {
		r.mu.Lock()
		r.heard = append(r.heard, e)
		r.mu.Unlock()
		if then != nil {
			then(e)
		}
	}
	r.Host = plugins.New(used, opt)
	t.Cleanup(func() {
		r.Close()
		if modules, instances := rt.Live(); modules != 0 || instances != 0 {
			t.Errorf("%d modules and %d instances were left open", modules, instances)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// step is what a loop does between two steps.
func (r *rig) step() abi.Decider {
	r.now += 1_000_000
	set, _, _ := r.Swap(r.now)
	return set
}

// push puts a policy into force, with the loop going on meanwhile once it has begun.
func (r *rig) push(name string, wasm []byte) {
	r.t.Helper()
	if err := r.during(func() error { return r.Push(context.Background(), name, wasm, nil) }); err != nil {
		r.t.Fatal(err)
	}
}

// before puts a policy into force before the loop begins.
func (r *rig) before(name string, wasm []byte) {
	r.t.Helper()
	if err := r.Push(context.Background(), name, wasm, nil); err != nil {
		r.t.Fatal(err)
	}
}

// during steps until a change made by another goroutine is done.
func (r *rig) during(change func() error) error {
	if r.alone {
		return change()
	}
	done := make(chan error, 1)
	go func() { done <- change() }()
	for {
		select {
		case err := <-done:
			return err
		default:
			r.step()
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// eventually steps until a condition holds that another goroutine brings about.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for range 20_000 {
		r.step()
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	r.t.Fatalf("never came: %s", what)
}

func (r *rig) events(kind plugins.EventKind) (found []plugins.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.heard {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// hook is what one policy counts at one hook.
func (r *rig) hook(policy, hook string) plugins.HookInfo {
	r.t.Helper()
	for _, p := range r.List() {
		for _, h := range p.Calls {
			if p.Name == policy && h.Hook == hook {
				return h
			}
		}
	}
	r.t.Fatalf("no hook %s of policy %s", hook, policy)
	return plugins.HookInfo{}
}

func (r *rig) info(policy string) plugins.PolicyInfo {
	r.t.Helper()
	for _, p := range r.List() {
		if p.Name == policy {
			return p
		}
	}
	r.t.Fatalf("no policy %s", policy)
	return plugins.PolicyInfo{}
}

// admit shows n rows, numbered from 1, to the set in force.
func (r *rig) admit(waiting uint32, n int) ([]abi.Verdict, []abi.PolicyID) {
	set := r.step()
	st := abi.State{Size: abi.StateSize, NowNS: r.now, WaitingRequests: waiting}
	out, by := make([]abi.Verdict, n), make([]abi.PolicyID, n)
	set.Admit(&st, numbered(n), out, by)
	return out, by
}

// mark is who decided, as guesttest.Admit marks it; 0 for nobody.
func (r *rig) mark() uint32 {
	out, _ := r.admit(0, 1)
	return out[0].MaxTokensCap
}

func numbered(n int) []abi.Row {
	rows := make([]abi.Row, n)
	for i := range rows {
		rows[i] = abi.Row{ID: uint64(i + 1), PromptTokens: 10, MaxTokens: 10}
	}
	return rows
}

// ask calls the named hook once and reports whether a decision came of it, and whose.
func ask(set abi.Decider, hook string, now int64, waiting uint32) (decided bool, by abi.PolicyID) {
	st := abi.State{Size: abi.StateSize, NowNS: now, WaitingRequests: waiting}
	rows := numbered(3)
	switch hook {
	case "admit":
		out, ids := make([]abi.Verdict, 3), make([]abi.PolicyID, 3)
		set.Admit(&st, rows, out, ids)
		return out[0].Action != 0, ids[0]
	case "prioritize":
		return set.Prioritize(&st, rows, make([]abi.Ranking, 3))
	case "batch_cap":
		return set.BatchPlan(&st, new(abi.BatchPlan))
	case "speculate":
		return set.Speculate(&st, rows, new(abi.SpecPlan), make([]int32, 3))
	case "events":
		set.Events(&st, make([]abi.Event, 3))
	}
	return false, 0
}

// exports are the hooks that a loop calls.
var exports = []struct{ hook, export string }{
	{"admit", abi.ExportAdmit}, {"prioritize", abi.ExportPrioritize}, {"batch_cap", abi.ExportBatchCap},
	{"speculate", abi.ExportSpeculate}, {"events", abi.ExportEvents},
}

// wants fails unless the error is a refusal at the stage that names all the words.
func wants(t *testing.T, err error, stage plugins.Stage, words ...string) {
	t.Helper()
	refused, ok := err.(*plugins.RefusedError)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	if refused.Stage != stage {
		t.Errorf("refused at %s, want %s: %v", refused.Stage, stage, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the reason does not say %q: %v", w, err)
		}
	}
}

// ask1 shows one row to a set.
func ask1(set abi.Decider, now int64) (abi.Verdict, abi.PolicyID) {
	out, by := make([]abi.Verdict, 1), make([]abi.PolicyID, 1)
	set.Admit(&abi.State{Size: abi.StateSize, NowNS: now}, numbered(1), out, by)
	return out[0], by[0]
}
