package llama

import (
	"fmt"
	"slices"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama/internal/hidden"
)

// Names that Options.Drafter takes.
const (
	DrafterModel  = "draft-model" // a second, smaller model with the same vocabulary
	DrafterEAGLE3 = "eagle3"      // a head on the inputs of three of the model's layers
	DrafterMTP    = "mtp"         // the prediction block that some models carry themselves
)

// catchUpRows is the most rows that one Draft computes for sequences that are far behind. What is left waits for the
// next Draft, so that a long prompt does not hold up the others' tokens.
const catchUpRows = 512

// seedRows is how far behind a sequence may be and still get drafts in the call that catches it up.
const seedRows = 16

// drafter is the one engine behind all three drafters. Position p of its context takes the token at p+shift and, for a
// head, the hidden row of the position before that token; what comes out is a guess at the token after it.
//
//	draft model  shift 0, no hidden rows
//	MTP          shift 0, hidden row of p-1 (zeros at 0)
//	EAGLE-3      shift 1, hidden row of p
type drafter struct {
	name  string
	dev   *Device
	model capi.Model        // its own; 0 = the device's
	fn    *hidden.Functions // nil for a draft model
	side  *side
	shift int
	head  *head // nil for a draft model
	seqs  []draftSeq
	jobs  []draftJob // scratch of Draft
	put   []*draftJob
}

// draftSeq is what a drafter knows of one of the device's sequences.
type draftSeq struct {
	fed   int         // positions of the drafter's context that are right and stay
	loose []gpu.Token // draft model: tokens of the last drafts, which it holds from fed on
	rows  []float32   // head: the hidden row of each position that the device holds; shared after a copy, so only appended to
	lost  bool        // head: rows are missing, so there are no drafts until the sequence starts anew
}

// draftJob is one row of a Draft call.
type draftJob struct {
	row    *gpu.DraftRow
	seq    *draftSeq
	max    int
	next   int       // position to feed next
	last   int       // position that the newest known token belongs to
	out    int       // row of the batch that the next draft is read from
	hidden []float32 // head: hidden row that goes with the next draft
	ended  bool
}

// Name is one of the names that Options.Drafter takes.
func (d *drafter) Name() string { return d.name }

// Draft guesses for all rows at once. Sequences that are far behind, whose hidden rows were not observed, or that are as
// long as the drafter's context get no drafts. Pick runs on this goroutine and must not call the device. After an error
// no row has drafts, and the next call starts from what is known; gpu.ErrAborted is one.
func (d *drafter) Draft(rows []gpu.DraftRow) error {
	clearDrafts(rows)
	d.dev.mu.Lock()
	defer d.dev.mu.Unlock()
	if err := d.dev.usable(); err != nil {
		return err
	}
	if err := d.plan(rows); err != nil {
		return err
	}
	d.dev.abort.begin()
	err := d.run()
	d.dev.abort.end()
	if err != nil {
		clearDrafts(rows)
		err = fmt.Errorf("draft with %s: %w", d.name, err)
	}
	for i := range d.jobs {
		if j := &d.jobs[i]; err != nil || d.head != nil {
			j.seq.loose = nil
			d.side.cut(j.row.Seq, j.seq.fed)
		}
	}
	return err
}

func clearDrafts(rows []gpu.DraftRow) {
	for i := range rows {
		rows[i].Draft = rows[i].Draft[:0]
	}
}

// plan makes a job of each row that can get drafts, the ones that are least behind first.
func (d *drafter) plan(rows []gpu.DraftRow) error {
	d.jobs = d.jobs[:0]
	for i := range rows {
		r := &rows[i]
		if r.Seq < 0 || r.Seq >= len(d.seqs) {
			return fmt.Errorf("draft: %w: sequence %d is not one of 0..%d", gpu.ErrBatch, r.Seq, len(d.seqs)-1)
		}
		if held := d.dev.kv.length(r.Seq); len(r.History) != held+1 {
			return fmt.Errorf("draft: %w: sequence %d has %d known tokens, but the device holds %d", gpu.ErrBatch, r.Seq, len(r.History), held)
		}
		if j, ok := d.job(r); ok {
			d.jobs = append(d.jobs, j)
		}
	}
	slices.SortStableFunc(d.jobs, func(a, b draftJob) int { return (a.last - a.next) - (b.last - b.next) })
	for i := range d.jobs {
		for k := range i {
			if d.jobs[k].seq == d.jobs[i].seq {
				return fmt.Errorf("draft: %w: sequence %d stands in it twice", gpu.ErrBatch, d.jobs[i].row.Seq)
			}
		}
	}
	return nil
}

func (d *drafter) job(r *gpu.DraftRow) (draftJob, bool) {
	s := &d.seqs[r.Seq]
	last := len(r.History) - 1 - d.shift
	j := draftJob{row: r, seq: s, last: last, max: min(r.Max, d.side.room-last)}
	if last < 0 || j.max < 1 || d.head != nil && (s.lost || len(s.rows) != d.dev.kv.length(r.Seq)*d.head.width) {
		return j, false
	}
	for ; len(s.loose) > 0 && s.fed < last && s.loose[0] == r.History[s.fed+d.shift]; s.fed++ {
		s.loose = s.loose[1:]
	}
	s.fed, s.loose = min(s.fed, last), nil
	d.side.cut(r.Seq, s.fed)
	j.next = s.fed
	return j, true
}

var _ gpu.Drafter = (*drafter)(nil)
