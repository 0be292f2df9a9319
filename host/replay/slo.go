package replay

import (
	"time"

	"github.com/sluice-dev/sluice/host/sched"
)

// SLO is what a request must keep to count as served well. 0 in a field means no such clause.
type SLO struct {
	TTFT          int64 `json:"ttft_ns"`            // from arrival
	TTFTMaxPrompt int   `json:"ttft_prompt_tokens"` // the TTFT clause is for prompts shorter than this; 0 = for all
	TPOT          int64 `json:"tpot_ns"`
	MaxGap        int64 `json:"max_gap_ns"`
}

// DefaultSLO is the objective that ships: TTFT below 800 ms for prompts under 2,000 tokens, TPOT below 50 ms, no gap of
// 500 ms.
func DefaultSLO() SLO {
	return SLO{
		TTFT: int64(800 * time.Millisecond), TTFTMaxPrompt: 2000,
		TPOT: int64(50 * time.Millisecond), MaxGap: int64(500 * time.Millisecond),
	}
}

// met reports whether a request was served and kept every clause. Figures that it never reached cannot break one.
func (s *SLO) met(r *row) bool {
	if r.outcome != sched.OutcomeCompleted && r.outcome != sched.OutcomeLength {
		return false
	}
	below := func(v, limit int64) bool { return limit <= 0 || v == absent || v < limit }
	short := s.TTFTMaxPrompt <= 0 || int(r.prompt) < s.TTFTMaxPrompt
	return (!short || below(r.ttft, s.TTFT)) && below(r.tpot, s.TPOT) && below(r.gap, s.MaxGap)
}
