package engine_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
)

// reading is a fake of the memory in use, which counts how often it is read.
type reading struct{ used, reads atomic.Int64 }

func (r *reading) read() int64 {
	r.reads.Add(1)
	return r.used.Load()
}

// after waits until the engine has taken n further readings, the last of them with everything before it done.
func (r *reading) after(n int64) {
	for from := r.reads.Load(); r.reads.Load() <= from+n; {
		time.Sleep(time.Millisecond)
	}
}

func TestWhenMemoryRunsShortTheEngineGivesWayInTheOrderConfigured(t *testing.T) {
	var mem reading
	var log bytes.Buffer
	p := &plan{}
	order := []engine.Relief{engine.ReliefBatch, engine.ReliefCache, engine.ReliefRefuse}
	f := start(t, sim.Options{MaxSeqs: 4, Fault: p.fault}, func(c *engine.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Tick = time.Millisecond
		c.Memory = engine.Memory{Limit: 1000, Read: mem.read, Order: order, Every: time.Millisecond}
	})
	mem.used.Store(900) // below the mark
	mem.after(5)
	if got := f.all(t, 4, 3); got[sched.OutcomeLength] != 4 {
		t.Errorf("with memory left they ended as %v", got)
	}
	mem.used.Store(990)
	mem.after(int64(len(order)))
	got := f.submit(t, engine.Request{ID: "late", Prompt: prompt("x"), MaxTokens: 1})
	if outcome(t, got) != sched.OutcomeShedAtArrival || got.Result().Verdict.Limit != "memory" {
		t.Errorf("with all given up, a request ended as %+v", got.Result())
	}
	mem.used.Store(900) // above the lower mark: nothing comes back yet
	mem.after(5)
	if outcome(t, f.submit(t, engine.Request{ID: "later", Prompt: prompt("x"), MaxTokens: 1})) != sched.OutcomeShedAtArrival {
		t.Error("a reading between the marks gave something back")
	}
	p.taken()
	mem.used.Store(500)
	mem.after(5)
	mem.used.Store(900)
	if got := f.all(t, 4, 3); got[sched.OutcomeLength] != 4 {
		t.Errorf("with memory back they ended as %v", got)
	}
	if rows := p.taken(); len(rows) == 0 || rows[len(rows)-1] != 4 {
		t.Errorf("rows of the steps with memory back: %v", rows)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, r := range order {
		next := strings.Index(log.String(), r.String())
		if next <= at {
			t.Errorf("%q is not where it belongs in the log:\n%s", r, log.String())
		}
		at = next
	}
}

func TestWithHalfTheBatchGivenUpNewcomersFindHalfThePlaces(t *testing.T) {
	var mem reading
	mem.used.Store(2000)
	p := &plan{}
	f := start(t, sim.Options{MaxSeqs: 8, Fault: p.fault}, func(c *engine.Config) {
		c.Tick = time.Millisecond
		c.Memory = engine.Memory{Limit: 1000, Read: mem.read, Order: []engine.Relief{engine.ReliefBatch}, Every: time.Millisecond}
	})
	mem.after(2)
	if got := f.all(t, 8, 3); got[sched.OutcomeLength] != 8 {
		t.Errorf("ended as %v", got)
	}
	for _, n := range p.taken() {
		if n > 4 {
			t.Errorf("a step of %d rows", n)
		}
	}
}

func TestTheProcessKnowsItsOwnMemory(t *testing.T) {
	before := engine.ResidentBytes()
	ballast := make([]byte, 64<<20)
	for i := range ballast {
		ballast[i] = 1
	}
	if after := engine.ResidentBytes(); before <= 0 || after < before+32<<20 {
		t.Errorf("%d bytes before, %d with %d more", before, after, len(ballast))
	}
}
