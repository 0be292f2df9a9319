package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Side is one of the two policy sets of a report.
type Side struct {
	Name string
	// New makes the set, fresh for each run since policies keep state, and says how to give it back. nil = native defaults.
	New func() (abi.Decider, func(), error)
	// Who resolves the set's policies; may be nil.
	Who func(abi.PolicyID) trace.Decider
}

// Report is a comparison of two sides over one trace, at one or more step times.
type Report struct {
	Schema      int           `json:"schema"` // 1; fields may be added
	Sim         string        `json:"sim"`
	Seed        uint64        `json:"seed"`
	Speed       float64       `json:"speed"`
	Requests    int           `json:"requests"`
	Excluded    int           `json:"excluded"`      // records without a prompt
	Drawn       int           `json:"drawn_lengths"` // requests whose length the trace did not know
	SLO         SLO           `json:"slo"`
	Comparisons []*Comparison `json:"comparisons"`
}

// NewReport replays in for both sides at each step time, in percent of what the model says (none = 100). Its Policies
// and Who are the sides'.
func NewReport(ctx context.Context, in Input, a, b Side, percents ...int) (*Report, error) {
	if len(percents) == 0 {
		percents = []int{100}
	}
	rep := &Report{Schema: 1, Speed: in.Speed}
	if rep.Speed == 0 {
		rep.Speed = 1
	}
	for _, percent := range percents {
		in.StepPercent = percent
		left, err := runSide(ctx, in, a)
		if err != nil {
			return nil, err
		}
		right, err := runSide(ctx, in, b)
		if err != nil {
			return nil, err
		}
		c := Compare(left, right)
		c.StepPercent, c.A.Name, c.B.Name = percent, a.Name, b.Name
		rep.Comparisons = append(rep.Comparisons, c)
		rep.Sim, rep.Seed, rep.SLO = left.Sim, left.Seed, left.SLO
		rep.Requests, rep.Excluded, rep.Drawn = left.Requests(), left.Excluded, left.Drawn
	}
	return rep, nil
}

func runSide(ctx context.Context, in Input, s Side) (*Result, error) {
	in.Policies, in.Who = nil, s.Who
	if s.New != nil {
		policies, done, err := s.New()
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", s.Name, err)
		}
		if done != nil {
			defer done()
		}
		in.Policies = policies
	}
	r, err := Run(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", s.Name, err)
	}
	return r, nil
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write replay report: %w", err)
	}
	return nil
}
