package replay

import (
	"context"
	"math"
	"testing"

	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// A trace is a file that anybody may have written: what Record.Validate lets through must neither hang a replay nor wrap.
func TestExtremeRecordsNeitherHangNorWrap(t *testing.T) {
	in := Input{Sim: device(ms), Records: []trace.Record{request(0, 8, 2), request(1, math.MaxInt64, math.MaxInt64), request(2, 8, math.MaxInt64)}}
	records, res := ended(t, in)
	if len(records) != 3 || records[0].Status != 400 {
		t.Errorf("%+v", records)
	}
	if s := res.Summaries(); s[len(bucketNames)-1].N != 1 {
		t.Errorf("the longest prompt is not in the last bucket: %+v", s)
	}
	late := Input{Sim: device(ms), Speed: minSpeed, Records: []trace.Record{request(0, 8, 2), request(math.MaxInt64/4, 8, 2)}}
	if _, err := Run(context.Background(), late); err == nil {
		t.Error("an arrival beyond the clock's range was accepted")
	}
	gone := request(0, 8, 2)
	gone.Outcome, gone.OutputTokens, gone.E2E = "cancelled_running", 1, math.MaxInt64
	long := gone
	long.OutputTokens, long.E2E = math.MaxInt64, ms
	ended(t, Input{Sim: device(ms), Records: []trace.Record{long}})
	if records, _ := ended(t, Input{Sim: device(ms), Records: []trace.Record{gone}}); records[0].Outcome != "length" {
		t.Errorf("a client that would have left after 292 years: %s", records[0].Outcome)
	}
}

func TestPoliciesSeeTheTenantThatTheLiveServerSaw(t *testing.T) {
	r := request(0, 8, 2)
	r.Tenant = "00000000000000ff"
	var seen uint64
	ended(t, Input{Sim: device(ms), Records: []trace.Record{r}, Policies: &policy{admit: func(_ *abi.State, row *abi.Row, _ *abi.Verdict) { seen = row.Tenant }}})
	if seen != 0xff {
		t.Errorf("tenant %x", seen)
	}
}

// The live server records the class that a policy chose.
func TestARecordNamesTheClassThatAPolicyChose(t *testing.T) {
	for class, want := range map[int8]string{1: DefaultClasses()[1], 15: "class15"} {
		records, _ := ended(t, Input{Sim: device(ms), Records: []trace.Record{request(0, 8, 2)}, Policies: &policy{
			admit: func(_ *abi.State, _ *abi.Row, out *abi.Verdict) {
				out.Action, out.ClassOverride = uint8(abi.ActionAdmit), class
			}}})
		if records[0].Class != want {
			t.Errorf("class %q, want %q", records[0].Class, want)
		}
	}
}
