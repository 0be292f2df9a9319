package sched_test

import (
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

func TestARowHoldsTheLargestValueWhereTheClientsIsBeyondIt(t *testing.T) {
	var seen abi.Row
	d := drive(t, sched.DefaultConfig(2, 16, 64, 64), answers{admit: func(r *abi.Row) abi.Verdict { seen = *r; return abi.Verdict{} }})
	d.arrive(&sched.Request{ID: 1, PromptTokens: 4, MaxTokens: 1 << 32, Attempt: -1})
	if seen.MaxTokens != 1<<32-1 || seen.Attempt != 0 {
		t.Errorf("max_tokens %d, attempt %d", seen.MaxTokens, seen.Attempt)
	}
}
