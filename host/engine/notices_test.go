package engine_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) with(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// keepsOut lets nobody in while it is asked.
type keepsOut struct{ fixedK }

func (keepsOut) Hooks() abi.Hook { return abi.HookBatchCap }
func (keepsOut) BatchPlan(_ *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	out.MaxSeqs, out.ReserveSeqs = 1, 1<<30
	return true, 1
}

// What the scheduler wants heard is in the log, with the request, its class and the policy that is to blame.
func TestTheLogSaysWhatTheSchedulerHadToDo(t *testing.T) {
	var log lines
	f := start(t, sim.Options{MaxSeqs: 2}, func(c *engine.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Classes = []string{"interactive", "batch"}
		c.Policies = &source{d: keepsOut{}}
		c.Sched.StallAfter = int64(30 * time.Millisecond)
	})
	for _, r := range []engine.Request{
		{ID: "long", Prompt: prompt(strings.Repeat("x", 600)), MaxTokens: 1, Class: 1},
		{ID: "held", Prompt: prompt("x"), MaxTokens: 1, Class: 1},
	} {
		<-f.submit(t, r).Done()
	}
	if line := log.with("can never fit"); !strings.Contains(line, "limit=context") || !strings.Contains(line, "request_id=long") || !strings.Contains(line, "INFO") {
		t.Errorf("of what can never fit: %q", line)
	}
	if line := log.with("against the policies' will"); !strings.Contains(line, "request_id=held") || !strings.Contains(line, "class=batch") || !strings.Contains(line, "policy=test") {
		t.Errorf("of what was forced: %q", line)
	}
}

// A deadline that passes while a request runs ends it, with what it has written so far.
func TestADeadlineEndsARequestThatRuns(t *testing.T) {
	f := start(t, sim.Options{Wall: 1, MaxSeqs: 1}, nil)
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("x"), MaxTokens: 500, IgnoreEOS: true, Deadline: int64(150 * time.Millisecond)})
	read(s)
	if r := s.Result(); r.Outcome != sched.OutcomeExpired || r.Finish != "" || r.Verdict.Reason != abi.ReasonDeadline || r.OutputTokens == 0 || r.OutputTokens == 500 {
		t.Errorf("ended as %v after %d tokens: %+v", r.Outcome, r.OutputTokens, r)
	}
}
