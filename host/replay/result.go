package replay

import (
	"fmt"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
)

// absent marks a figure that a request never reached. It is not 0.
const absent = int64(-1)

// row is what a result keeps of one request.
type row struct {
	ttft, tpot, gap int64 // ns or absent
	wait            int64 // from arrival to the end, for those that never ran
	prompt, output  int32
	bucket          uint8
	outcome         sched.Outcome
	status          uint16
	meets           bool
}

// Result is one run: what became of every request.
type Result struct {
	// Decisions is the SHA-256 of the decision log in hex: equal for runs that decided the same, step by step.
	Decisions string
	Stats     sched.Stats
	Sim       string
	SLO       SLO
	Seed      uint64
	Excluded  int   // records without a prompt, which were left out
	Drawn     int   // requests whose length the trace did not know
	Makespan  int64 // ns from the first arrival to the last end

	busy int64
	rows []row
}

func newResult(in *Input, w *workload) *Result {
	return &Result{
		Sim: in.Sim.Name, SLO: in.SLO, Seed: in.Seed, Excluded: w.excluded, Drawn: w.drawn, rows: make([]row, 0, len(w.jobs)),
	}
}

// Requests is the number of requests that were replayed.
func (r *Result) Requests() int { return len(r.rows) }

func (r *Result) add(j *job, q *sched.Request) {
	x := row{
		ttft: absent, tpot: absent, gap: absent, wait: q.Ended - q.Arrival,
		prompt: int32(q.PromptTokens), output: int32(q.Generated), bucket: uint8(j.bucket),
		outcome: q.Outcome, status: uint16(q.Verdict.Status),
	}
	if q.Generated > 0 {
		x.ttft = q.FirstToken - q.Arrival
	}
	if tpot := trace.TPOT(q.FirstToken, q.LastToken, q.Generated); tpot != nil {
		x.tpot = *tpot
	}
	if q.Emissions > 1 {
		x.gap = q.MaxGap
	}
	x.meets = r.SLO.met(&x)
	r.rows = append(r.rows, x)
}

func (r *Result) finish(stats sched.Stats, now int64, decisions string) {
	r.Stats, r.Makespan, r.Decisions = stats, now-epoch, decisions
}

// recordID names a replayed request by its place in the trace.
func recordID(id uint64) string { return fmt.Sprintf("replay-%d", id) }
