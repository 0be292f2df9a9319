package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// drafts is what became of drafts over some time.
type drafts struct {
	tokens, rows      uint64 // emitted, and in how many rows of steps
	drafted, accepted [abi.MaxDraft]uint64
	rowsWith, accepts uint64
}

func (s *server) drafts() (d drafts, err error) {
	snap, err := s.engine.Snapshot(context.Background())
	if err != nil {
		return d, err
	}
	st := &snap.Stats
	d.tokens, d.accepts = st.OutputTokens, st.Accepted
	d.rows = st.OutputTokens - st.Accepted // each row of a step emits one token beside its accepted drafts
	d.rowsWith = st.Drafts
	d.drafted, d.accepted = st.DraftedAt, st.AcceptedAt
	return d, nil
}

func (d drafts) since(before drafts) drafts {
	d.tokens -= before.tokens
	d.rows -= before.rows
	d.rowsWith -= before.rowsWith
	d.accepts -= before.accepts
	for i := range d.drafted {
		d.drafted[i] -= before.drafted[i]
		d.accepted[i] -= before.accepted[i]
	}
	return d
}

func (d *drafts) add(o drafts) {
	d.tokens += o.tokens
	d.rows += o.rows
	d.rowsWith += o.rowsWith
	d.accepts += o.accepts
	for i := range d.drafted {
		d.drafted[i] += o.drafted[i]
		d.accepted[i] += o.accepted[i]
	}
}

// String is three columns: tokens a row of a step, the share of accepted drafts by position, and the share of rows by their drafts.
func (d *drafts) String() string {
	var accepted, byK []string
	for i, n := range d.drafted {
		if n > 0 {
			accepted = append(accepted, fmt.Sprintf("%.2f", float64(d.accepted[i])/float64(n)))
		}
	}
	share := func(n uint64) float64 { return 100 * float64(n) / float64(max(d.rows, 1)) }
	byK = append(byK, fmt.Sprintf("0:%.0f%%", share(d.rows-d.rowsWith)))
	for i, n := range d.drafted {
		next := uint64(0)
		if i+1 < len(d.drafted) {
			next = d.drafted[i+1]
		}
		if n > next {
			byK = append(byK, fmt.Sprintf("%d:%.0f%%", i+1, share(n-next)))
		}
	}
	return fmt.Sprintf("%.2f\t%s\t%s", float64(d.tokens)/float64(max(d.rows, 1)), strings.Join(accepted, " "), strings.Join(byK, " "))
}
