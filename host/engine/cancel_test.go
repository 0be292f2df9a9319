package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// A client that leaves in the very step that gives its request a place, or its last token, is counted once.
func TestACancelInTheStepOfTheGrantOrOfTheEndIsOneOutcome(t *testing.T) {
	const tokens = 3
	for at := 1; at <= tokens; at++ { // the first step grants, the last one ends
		t.Run(fmt.Sprintf("step %d", at), func(t *testing.T) {
			g := newGate()
			f := start(t, sim.Options{Fault: g.fault}, nil)
			s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("abc"), MaxTokens: tokens, IgnoreEOS: true})
			for range at - 1 {
				g.step(t)
			}
			g.wait(t)
			s.Cancel()
			s.Cancel()
			f.snapshot(t) // the loop has heard of it
			g.pass <- nil
			if got := outcome(t, s); got != sched.OutcomeCancelledRunning {
				t.Errorf("ended as %v", got)
			}
			s.Cancel() // there is nothing left to cancel
			if snap := f.settled(t); snap.Stats.Steps != uint64(at) {
				t.Errorf("free after %d steps, left in step %d", snap.Stats.Steps, at)
			}
		})
	}
}

// Cancels that come at any time, against ends that come at any time, by many goroutines.
func TestEveryRequestEndsOnceHoweverCancelsRaceWithEnds(t *testing.T) {
	f := start(t, sim.Options{}, func(c *engine.Config) {
		c.Sched.MaxDraft = 7
		c.Policies = &source{d: fixedK{4}}
	})
	const clients, each = 8, 150
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				s := f.submit(t, engine.Request{ID: fmt.Sprintf("%d-%d", c, i), Prompt: prompt(strings.Repeat("p", 1+i%70)), MaxTokens: 1 + i%9, IgnoreEOS: true})
				for range i % 5 {
					<-s.Events()
				}
				if i%3 > 0 {
					go s.Cancel()
				}
				if i%3 == 2 {
					s.Cancel()
				}
				read(s)
			}
		})
	}
	wg.Wait()
	snap := f.settled(t)
	if snap.Stats.Arrived != clients*each {
		t.Errorf("%d arrived", snap.Stats.Arrived)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if len(f.records) != clients*each {
		t.Errorf("%d records of %d requests", len(f.records), clients*each)
	}
}

// A thousand clients leave during one step: when it is done, all their places and blocks are free.
func TestAThousandClientsThatLeaveAtOnceLeaveNothing(t *testing.T) {
	g := newGate()
	f := start(t, sim.Options{MaxSeqs: 16, Fault: g.fault}, nil)
	before, goroutines := heap(), runtime.NumGoroutine()
	var streams []*engine.Stream
	for i := range 1000 {
		streams = append(streams, f.submit(t, engine.Request{ID: fmt.Sprint(i), Prompt: prompt("hello"), MaxTokens: 400, IgnoreEOS: true}))
	}
	g.step(t)
	g.step(t)
	for b := g.wait(t); len(b.Items) < 16; b = g.wait(t) {
		g.pass <- nil
	}
	at := f.snapshot(t).Stats.Steps
	var wg sync.WaitGroup
	for _, s := range streams {
		wg.Go(s.Cancel)
	}
	wg.Wait()
	running := 0
	if f.snapshot(t).State.WaitingRequests != 0 {
		t.Error("what waited is still in the queue, and the step goes on")
	}
	g.pass <- nil
	for _, s := range streams {
		if outcome(t, s) == sched.OutcomeCancelledRunning {
			running++
		}
	}
	if snap := f.settled(t); snap.Stats.Steps != at+1 || running != 16 {
		t.Errorf("%d were running, and all is free after %d further steps", running, snap.Stats.Steps-at)
	}
	streams = nil
	f.mu.Lock()
	f.records = nil
	f.mu.Unlock()
	if after := heap(); after > before+4<<20 || runtime.NumGoroutine() > goroutines {
		t.Errorf("%d KiB and %d goroutines more than before", (int(after)-int(before))>>10, runtime.NumGoroutine()-goroutines)
	}
}

// heap is the bytes that are in use once all garbage is gone.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A request whose client leaves while it waits is never computed, wherever in the queue it stands.
func TestWhatIsCancelledInTheQueueIsNeverComputed(t *testing.T) {
	seen := map[gpu.Token]bool{}
	g := newGate()
	f := start(t, sim.Options{MaxSeqs: 1, Fault: func(n uint64, b *gpu.Batch) error {
		for _, it := range b.Items {
			seen[it.Tokens[0]] = true
		}
		return g.fault(n, b)
	}}, nil)
	first := f.submit(t, engine.Request{ID: "first", Prompt: prompt("#"), MaxTokens: 2, IgnoreEOS: true})
	var streams []*engine.Stream
	for _, text := range []string{"A", "B", "C", "D"} {
		streams = append(streams, f.submit(t, engine.Request{ID: text, Prompt: prompt(text), MaxTokens: 1, IgnoreEOS: true}))
	}
	g.wait(t)
	for _, i := range []int{1, 3} { // in the middle and at the end
		streams[i].Cancel()
		if got := outcome(t, streams[i]); got != sched.OutcomeCancelledInQueue {
			t.Errorf("ended as %v", got)
		}
	}
	if n := f.snapshot(t).State.WaitingRequests; n != 2 {
		t.Errorf("%d wait, want 2", n)
	}
	g.pass <- nil
	done := make(chan struct{})
	go func() { read(first); read(streams[0]); read(streams[2]); close(done) }()
	g.open(done)
	if !seen['A'] || !seen['C'] || seen['B'] || seen['D'] {
		t.Errorf("computed: A %v, B %v, C %v, D %v", seen['A'], seen['B'], seen['C'], seen['D'])
	}
}

// The step is so long that the test would never end if nobody broke it off.
func TestAPromptThatNobodyWaitsForIsBrokenOff(t *testing.T) {
	f := start(t, sim.Options{Wall: 1e6}, nil)
	long := f.submit(t, engine.Request{ID: "long", Prompt: prompt(strings.Repeat("long ", 12)), MaxTokens: 4})
	for f.snapshot(t).State.Running == 0 {
		runtime.Gosched()
	}
	long.Cancel()
	if got := outcome(t, long); got != sched.OutcomeCancelledRunning || long.Result().Err != nil {
		t.Errorf("ended as %v, %v", got, long.Result().Err)
	}
	if f.settled(t).Faults.Steps != 0 {
		t.Error("a step that was broken off counts as a failure")
	}
}

// The choices of one answer are judged together, and all go when their client does.
func TestAllChoicesOfAnAnswerAreFreedTogether(t *testing.T) {
	g := newGate()
	f := start(t, sim.Options{MaxSeqs: 2, Fault: g.fault}, func(c *engine.Config) { c.Sched.MaxWaiting = 5 })
	var reqs []engine.Request
	for i := range 4 {
		reqs = append(reqs, engine.Request{ID: fmt.Sprintf("a-%d", i), Prompt: prompt("hello"), MaxTokens: 90, IgnoreEOS: true})
	}
	choices, err := f.SubmitAll(reqs)
	if err != nil || len(choices) != 4 {
		t.Fatalf("%d streams: %v", len(choices), err)
	}
	g.step(t)
	g.wait(t)
	for _, s := range choices {
		s.Cancel()
	}
	f.snapshot(t)
	g.pass <- nil
	count := map[sched.Outcome]int{}
	for _, s := range choices {
		count[outcome(t, s)]++
	}
	if count[sched.OutcomeCancelledRunning] != 2 || count[sched.OutcomeCancelledInQueue] != 2 {
		t.Errorf("ended as %v", count)
	}
	f.settled(t)
	if _, err := f.SubmitAll([]engine.Request{reqs[0], {ID: "bad"}}); err == nil {
		t.Error("requests with a malformed one among them were taken")
	}
	if n := f.settled(t).Stats.Arrived; n != 4 {
		t.Errorf("%d arrived: part of what was refused was taken", n)
	}
}

// A client that leaves while drafts of its text are verified takes them with it, and the next one's text is right.
func TestDraftsOfARequestThatIsCancelledLeaveNothing(t *testing.T) {
	g := newGate()
	f := start(t, sim.Options{MaxSeqs: 1, Fault: g.fault}, func(c *engine.Config) {
		c.Sched.MaxDraft = 8
		c.Policies = &source{d: fixedK{8}}
	})
	text := strings.Repeat("abcabc", 5)
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt(text), MaxTokens: 300, IgnoreEOS: true})
	for b := g.wait(t); len(b.Items[0].Tokens) < 2 || b.Items[0].Pos == 0; b = g.wait(t) {
		g.pass <- nil
	}
	s.Cancel()
	f.snapshot(t)
	g.pass <- nil
	if got := outcome(t, s); got != sched.OutcomeCancelledRunning {
		t.Errorf("ended as %v", got)
	}
	f.settled(t)
	done := make(chan struct{})
	var again string
	go func() {
		again, _ = read(f.submit(t, engine.Request{ID: "b", Prompt: prompt(text), MaxTokens: 40, IgnoreEOS: true}))
		close(done)
	}()
	g.open(done)
	plain := start(t, sim.Options{MaxSeqs: 1}, nil)
	if want, _ := read(plain.submit(t, engine.Request{ID: "b", Prompt: prompt(text), MaxTokens: 40, IgnoreEOS: true})); again != want {
		t.Errorf("got %q, want %q", again, want)
	}
}
