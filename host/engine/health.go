package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/gpu"
)

// Faults counts what went wrong on the device since the engine was made.
type Faults struct {
	Steps  uint64 // steps that failed
	Stalls uint64 // steps that took a hundred times as long as others
	Resets uint64 // times the device was started anew
	Lost   uint64 // rows whose request had to be computed again, since the device did not hold what it should
	KV     uint64 // copies, saves, restores and drafts that failed
}

// The rules of health.
const (
	stallFactor  = 100                    // a step that takes so many usual ones is reported
	stallLeast   = int64(time.Second)     // and not before it took so long
	resetAfter   = 3                      // failed steps in a row
	resetEvery   = int64(5 * time.Second) // between two attempts
	recoverSteps = 32                     // good steps for one place of the batch
)

// health is how the device does. The loop's goroutine writes it; the atomic fields are read from any.
type health struct {
	beat   atomic.Int64 // when the loop last turned
	since  atomic.Int64 // when the job on the device began; 0 = none
	broken atomic.Pointer[error]

	faults   Faults
	usual    int64 // longest of the recent steps, fading
	reported bool  // this step's stall
	failures int   // steps in a row
	resetAt  int64 // when to try to start the device anew; 0 = no need
	lost     bool  // the device computes nothing before that
	seqs     int   // places after a lack of memory; 0 = all
	good     int   // steps since seqs was changed
}

// Ready says why the engine should get no traffic, or nil: the loop does not turn, a step takes longer than Config.StallAfter,
// or the device fails again and again. It may be called from any goroutine and never waits.
func (e *Engine) Ready() error {
	select {
	case <-e.gone:
		return ErrDraining
	default:
	}
	h, limit := &e.loop.health, int64(e.cfg.StallAfter)
	now := e.Now()
	if since := h.since.Load(); since > 0 && now-since > limit {
		return fmt.Errorf("a device step has taken %v and is not done", time.Duration(now-since).Round(time.Millisecond))
	}
	if beat := h.beat.Load(); now-beat > limit {
		return fmt.Errorf("the decode loop has not turned for %v", time.Duration(now-beat).Round(time.Millisecond))
	}
	if err := h.broken.Load(); err != nil {
		return *err
	}
	return nil
}

func (h *health) begin(now int64) {
	h.reported = false
	h.since.Store(now)
}

func (h *health) end(now int64) (took int64) { return now - h.since.Swap(0) }

// watch reports a step that takes much longer than steps do.
func (h *health) watch(now int64, l *loop) {
	h.beat.Store(now)
	since := h.since.Load()
	if since == 0 || h.reported || now-since < max(stallLeast, stallFactor*h.usual) {
		return
	}
	h.reported = true
	h.faults.Stalls++
	l.e.cfg.Log.Warn("a device step takes very long", "after", time.Duration(now-since), "usual", time.Duration(h.usual), "rows", len(l.job.rows))
}

// judgeStep draws conclusions from a step: fewer places after a lack of memory, a new start of the device after failures. Nothing
// follows from a step of which the device held nothing and computed nothing.
func (l *loop) judgeStep(now, took int64, err error) {
	h := &l.health
	if err == nil && len(l.job.batch.Items) == 0 {
		return
	}
	if err == nil {
		h.usual = max(took, h.usual-h.usual/16)
		h.failures = 0
		h.resetAt = 0
		h.broken.Store(nil)
		h.regain(l.e.cfg.Sched.MaxSeqs)
		return
	}
	if errors.Is(err, gpu.ErrAborted) {
		return
	}
	h.faults.Steps++
	h.failures++
	l.e.cfg.Log.Error("device step failed", "step", l.job.plan.Step, "rows", len(l.job.rows), "in_a_row", h.failures, "error", err)
	if errors.Is(err, gpu.ErrNoKV) || errors.Is(err, gpu.ErrMemory) {
		h.seqs, h.good = max(1, len(l.job.rows)/2), 0
		l.e.cfg.Log.Warn("the device lacks memory: fewer requests run at a time for a while", "places", h.seqs)
	}
	if h.failures >= resetAfter || errors.Is(err, gpu.ErrLost) {
		broken := fmt.Errorf("the device failed, %d steps in a row: %w", h.failures, err)
		h.broken.Store(&broken)
		if h.resetAt == 0 {
			h.resetAt = now
		}
	}
	h.lost = h.lost || errors.Is(err, gpu.ErrLost)
}

// regain gives back one place after so many good steps.
func (h *health) regain(all int) {
	if h.seqs == 0 {
		return
	}
	if h.good++; h.good < recoverSteps {
		return
	}
	h.good = 0
	if h.seqs++; h.seqs >= all {
		h.seqs = 0
	}
}

func (h *health) resetDue(now int64) bool { return h.resetAt > 0 && now >= h.resetAt }

// suspended tells that what waits is to wait for the device's next start: steps before that would fail, or lose what they hold.
func (h *health) suspended() bool { return h.lost && h.resetAt > 0 }

// finishReset goes on with an empty device, or tries again later.
func (l *loop) finishReset(now int64, err error) {
	h := &l.health
	switch {
	case errors.Is(err, errors.ErrUnsupported): // so nothing is gained by waiting
		h.resetAt, h.lost = now+resetEvery, false
		return
	case err != nil:
		h.resetAt = now + resetEvery
		l.e.cfg.Log.Error("the device could not be started anew", "error", err)
		return
	}
	h.faults.Resets++
	h.resetAt, h.failures, h.lost = 0, 0, false
	h.broken.Store(nil)
	l.kv.clear()
	l.core.DropKV(now)
	l.drafter = l.e.cfg.Drafter
	l.e.cfg.Log.Warn("the device was started anew; what runs is computed again")
}
