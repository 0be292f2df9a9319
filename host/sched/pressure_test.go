package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
)

func TestUnderPressureNewcomersFindFewerPlacesAndWhatRunsGoesOn(t *testing.T) {
	d := drive(t, sched.DefaultConfig(4, 64, 64, 256), nil)
	for id := range uint64(4) {
		d.arrive(&sched.Request{ID: id + 1, PromptTokens: 4, MaxTokens: 5 + int(id)})
	}
	d.steps(2)
	d.SetPressure(sched.Pressure{MaxSeqs: 2})
	d.arrive(&sched.Request{ID: 9, PromptTokens: 4, MaxTokens: 20}, &sched.Request{ID: 10, PromptTokens: 4, MaxTokens: 20})
	if d.steps(1); d.Running() != 4 {
		t.Errorf("%d run, the four that ran were to go on", d.Running())
	}
	if d.steps(10); d.Running() != 2 {
		t.Errorf("%d run, want 2", d.Running())
	}
	d.SetPressure(sched.Pressure{Refuse: true})
	late := &sched.Request{ID: 20, PromptTokens: 4, MaxTokens: 5}
	d.arrive(late)
	if v := late.Verdict; late.Outcome != sched.OutcomeShedAtArrival || v.Status != 503 || v.Limit != "memory" || v.RetryAfter <= 0 {
		t.Errorf("an arrival ended as %v: %+v", late.Outcome, v)
	}
	d.SetPressure(sched.Pressure{})
	d.arrive(&sched.Request{ID: 21, PromptTokens: 4, MaxTokens: 5})
	if d.steps(1); d.Running() != 3 {
		t.Errorf("%d run, want 3", d.Running())
	}
}

func TestARequestWhoseKVIsLostIsComputedAgain(t *testing.T) {
	d := drive(t, sched.DefaultConfig(2, 64, 64, 256), nil)
	r := &sched.Request{ID: 1, PromptTokens: 8, MaxTokens: 5, Hashes: []uint64{1}}
	d.arrive(r)
	d.steps(2)
	d.Plan(d.now)
	d.Complete(d.now, []sched.Result{{Lost: true}})
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	if row := d.steps(1)[1]; row.Start != 0 || row.Tokens != 10 || !row.Sample {
		t.Errorf("the row after the loss: %+v", row)
	}
	if d.steps(5); r.Outcome != sched.OutcomeLength || r.Generated != 5 || r.TokensLost != 9 {
		t.Errorf("ended as %v with %d tokens, %d lost", r.Outcome, r.Generated, r.TokensLost)
	}
}

func TestAStepIsUnwantedWhenAllOfItWasCancelled(t *testing.T) {
	d := drive(t, sched.DefaultConfig(2, 64, 64, 256), nil)
	d.arrive(&sched.Request{ID: 1, PromptTokens: 8, MaxTokens: 5}, &sched.Request{ID: 2, PromptTokens: 8, MaxTokens: 5})
	if d.StepUnwanted() {
		t.Error("no step is unwanted where none is")
	}
	d.Plan(d.now)
	d.Cancel(d.now, 1, sched.OutcomeCancelledRunning)
	if d.StepUnwanted() {
		t.Error("one of the two still waits for the step")
	}
	d.Cancel(d.now, 2, sched.OutcomeCancelledRunning)
	if !d.StepUnwanted() {
		t.Error("nobody waits for the step")
	}
	d.Complete(d.now, []sched.Result{{Done: sched.OutcomeFailed}, {Lost: true}})
	if s := d.Stats(); s.Ended[sched.OutcomeCancelledRunning] != 2 || d.Check() != nil {
		t.Errorf("ended: %v, %v", s.Ended, d.Check())
	}
}

// A deadline that passes during a step ends the request also where that step had nothing to go on from.
func TestADeadlinePassesInAStepThatIsLost(t *testing.T) {
	d := drive(t, sched.DefaultConfig(1, 64, 64, 256), nil)
	r := &sched.Request{ID: 1, PromptTokens: 8, MaxTokens: 5, Deadline: d.now + 30e6}
	d.arrive(r)
	d.steps(2)
	d.Plan(d.now)
	d.now = r.Deadline + 1
	d.Tick(d.now)
	d.Complete(d.now, []sched.Result{{Lost: true}})
	d.Tick(d.now)
	if r.Outcome != sched.OutcomeExpired {
		t.Errorf("ended as %v at its deadline", r.Outcome)
	}
}

// What the device does not hold is cached for nobody, also where nobody waits for it any more.
func TestKVThatIsLostWithACancelledRequestIsNotCached(t *testing.T) {
	g := newRig(t, kvConfig(2, 32, nil), nil)
	g.ask(1, tokens(1, 24), 1)
	r := &sched.Request{ID: 2, MaxTokens: 2}
	g.arrive(r, tokens(1, 24))
	g.core.Plan(g.now)
	g.core.Cancel(g.now, 2, sched.OutcomeCancelledRunning)
	g.core.Complete(g.now, []sched.Result{{Lost: true}})
	g.check()
	if n := g.core.BlocksCached(); r.Outcome != sched.OutcomeCancelledRunning || n != 0 {
		t.Errorf("ended as %v, %d blocks are cached", r.Outcome, n)
	}
}
