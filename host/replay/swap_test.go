package replay

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// falling is a policy that turns everything away until it is quarantined.
type falling struct {
	*policy
	until  int64
	asked  []int64
	fallen bool
}

func (f *falling) Swap(now int64) (abi.Decider, uint32, bool) {
	f.asked = append(f.asked, now)
	if now < f.until || f.fallen {
		return f, 1, false
	}
	f.fallen = true
	return &policy{}, 2, true
}

// A quarantine in a replay takes effect at the next step, as in the live server, and not never.
func TestPoliciesAreSwappedBetweenSteps(t *testing.T) {
	var in Input
	in.Sim = device(10 * ms)
	for i := range int64(10) {
		in.Records = append(in.Records, request(i*100*ms, 8, 2))
	}
	start := int64(0)
	f := &falling{policy: &policy{}}
	f.admit = func(st *abi.State, row *abi.Row, out *abi.Verdict) {
		if start == 0 {
			start = row.ArrivalNS
			f.until = start + 450*ms
		}
		if f.fallen {
			t.Errorf("the fallen policy was asked at %d", st.NowNS)
		}
		out.Action = uint8(abi.ActionReject)
	}
	f.until = 1 << 62
	in.Policies = f
	records, res := ended(t, in)
	shed := 0
	for _, r := range records {
		if r.Status == 503 {
			shed++
		}
	}
	if shed != 5 || !f.fallen || res.Stats.Steps == 0 {
		t.Errorf("%d of %d were turned away in %d steps, want the 5 before the swap", shed, len(records), res.Stats.Steps)
	}
	for i := 1; i < len(f.asked); i++ {
		if f.asked[i] < f.asked[i-1] {
			t.Errorf("the clock went back from %d to %d", f.asked[i-1], f.asked[i])
		}
	}
}
